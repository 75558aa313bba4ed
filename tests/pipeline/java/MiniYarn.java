import java.io.File;
import java.io.FileOutputStream;
import java.io.OutputStream;
import org.apache.hadoop.conf.Configuration;
import org.apache.hadoop.yarn.conf.YarnConfiguration;
import org.apache.hadoop.yarn.server.MiniYARNCluster;

/** A YARN cluster of two node managers in one JVM. Argument: the directory for its configuration. Prints READY. */
public class MiniYarn {
    public static void main(String[] arguments) throws Exception {
        YarnConfiguration yarn = new YarnConfiguration();
        yarn.setBoolean("yarn.minicluster.fixed.ports", false);
        yarn.setBoolean("yarn.is.minicluster", true);
        yarn.set("yarn.nodemanager.resource.memory-mb", "6144");
        yarn.set("yarn.scheduler.minimum-allocation-mb", "256");
        yarn.set("yarn.scheduler.capacity.maximum-am-resource-percent", "0.9");
        yarn.setBoolean("yarn.nodemanager.vmem-check-enabled", false);
        yarn.setBoolean("yarn.nodemanager.disk-health-checker.enable", false);
        yarn.set("yarn.nodemanager.env-whitelist", "JAVA_HOME,PATH,HOME");
        MiniYARNCluster cluster = new MiniYARNCluster("kctl", 2, 1, 1);
        cluster.init(yarn);
        cluster.start();
        Configuration files = new Configuration(false);
        files.set("fs.defaultFS", "file:///");
        write(cluster.getConfig(), new File(arguments[0], "yarn-site.xml"));
        write(files, new File(arguments[0], "core-site.xml"));
        System.out.println("READY");
        Thread.sleep(Long.MAX_VALUE);
    }

    private static void write(Configuration configuration, File file) throws Exception {
        try (OutputStream out = new FileOutputStream(file)) {
            configuration.writeXml(out);
        }
    }
}
