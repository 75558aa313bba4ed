import java.io.BufferedReader;
import java.io.InputStreamReader;
import java.io.OutputStream;
import java.io.PrintStream;
import java.nio.charset.StandardCharsets;
import java.time.Duration;
import java.util.Properties;
import java.util.concurrent.ExecutionException;
import java.util.concurrent.ThreadLocalRandom;
import org.apache.kafka.clients.admin.Admin;

/**
 * The Java client: `Admin.listTopics` under `default.api.timeout.ms`, and the connection limit as its own log tells
 * of it: from the line that a connection is initiated to the line that its setup timed out.
 *
 * Arguments: servers, api or connect, limit in ms, runs, security protocol. Prints as the Python programs do.
 */
public class AskWithLimit {
    private static final Watch WATCH = new Watch();

    public static void main(String[] args) throws Exception {
        System.setProperty("org.slf4j.simpleLogger.defaultLogLevel", "off");
        System.setProperty("org.slf4j.simpleLogger.log.org.apache.kafka.clients.NetworkClient", "debug");
        System.setErr(new PrintStream(WATCH, true, StandardCharsets.UTF_8));
        boolean isApi = args[1].equals("api");
        long limitMs = Long.parseLong(args[2]);
        Properties config = properties(args[0], args[4], isApi, limitMs);
        Admin shared = isApi ? Admin.create(config) : null;
        System.out.println("ready");
        new BufferedReader(new InputStreamReader(System.in)).readLine();
        for (int run = -1; run < Integer.parseInt(args[3]); run++) {
            Thread.sleep(2, ThreadLocalRandom.current().nextInt(1_000_000));
            long[] elapsedNs = new long[1];
            String text = isApi ? ask(shared, elapsedNs) : connect(config, elapsedNs);
            if (run >= 0) {
                System.out.println("{\"elapsed_us\": " + elapsedNs[0] / 1000 + ", \"text\": \"" + quoted(text) + "\"}");
            }
        }
        Runtime.getRuntime().halt(0);
    }

    private static Properties properties(String servers, String security, boolean isApi, long limitMs) {
        Properties config = new Properties();
        config.put("bootstrap.servers", servers);
        config.put("security.protocol", security);
        if (security.startsWith("SASL")) {
            config.put("sasl.mechanism", "PLAIN");
            config.put("sasl.jaas.config", "org.apache.kafka.common.security.plain.PlainLoginModule required "
                + "username=\"alice\" password=\"wrong\";");
        }
        if (isApi) {
            config.put("default.api.timeout.ms", Long.toString(limitMs));
            config.put("request.timeout.ms", Long.toString(limitMs));
        } else {
            config.put("socket.connection.setup.timeout.ms", Long.toString(limitMs));
            config.put("socket.connection.setup.timeout.max.ms", Long.toString(limitMs));
        }
        return config;
    }

    private static String ask(Admin admin, long[] elapsedNs) throws InterruptedException {
        long startedNs = System.nanoTime();
        String text;
        try {
            admin.listTopics().names().get();
            text = "success";
        } catch (ExecutionException error) {
            text = inWords(error.getCause());
        }
        elapsedNs[0] = System.nanoTime() - startedNs;
        return text;
    }

    private static String connect(Properties config, long[] elapsedNs) throws InterruptedException {
        WATCH.reset();
        try (Admin admin = Admin.create(config)) {
            admin.listTopics();
            String text = WATCH.await(10_000);
            elapsedNs[0] = WATCH.elapsedNs();
            admin.close(Duration.ZERO);
            return text;
        }
    }

    private static String inWords(Throwable error) {
        String words = error.getClass().getSimpleName() + ": " + error.getMessage();
        return error.getCause() == null ? words : words + " <- " + inWords(error.getCause());
    }

    private static String quoted(String text) {
        return text.replace("\\", "\\\\").replace("\"", "\\\"").replaceAll("\\p{Cntrl}", " ");
    }

    /** Reads the log as it is written. */
    private static final class Watch extends OutputStream {
        private final StringBuilder line = new StringBuilder();
        private long startedNs;
        private long endedNs;
        private String text;

        synchronized void reset() {
            startedNs = endedNs = 0;
            text = null;
        }

        @Override
        public synchronized void write(int b) {
            if (b != '\n') {
                line.append((char) b);
                return;
            }
            String whole = line.toString();
            line.setLength(0);
            if (startedNs == 0 && whole.contains("Initiating connection to node")) {
                startedNs = System.nanoTime();
            } else if (text == null && whole.contains("socket connection setup timeout")) {
                endedNs = System.nanoTime();
                text = whole;
                notifyAll();
            }
        }

        synchronized String await(long patienceMs) throws InterruptedException {
            long untilMs = System.currentTimeMillis() + patienceMs;
            while (text == null && System.currentTimeMillis() < untilMs) {
                wait(100);
            }
            return text == null ? "no limit" : text;
        }

        synchronized long elapsedNs() {
            return text == null ? 0 : endedNs - startedNs;
        }
    }
}
