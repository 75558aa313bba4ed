import java.io.BufferedReader;
import java.io.InputStreamReader;
import java.time.Duration;
import java.util.ArrayDeque;
import java.util.Properties;
import java.util.concurrent.ThreadLocalRandom;
import org.apache.kafka.clients.producer.KafkaProducer;
import org.apache.kafka.clients.producer.ProducerRecord;

/**
 * The Java client: `close(Duration)` of `KafkaProducer`; its flush takes no limit.
 *
 * Arguments: servers, flush or close, limit in ms, runs. Prints as the Python programs do.
 */
public class EndWithLimit {
    private static final int RECORDS = 10;

    public static void main(String[] args) throws Exception {
        System.setProperty("org.slf4j.simpleLogger.defaultLogLevel", "off");
        Duration limit = Duration.ofMillis(Long.parseLong(args[2]));
        int runs = Integer.parseInt(args[3]);
        ArrayDeque<KafkaProducer<byte[], byte[]>> producers = new ArrayDeque<>();
        boolean isClose = args[1].equals("close");
        for (int number = 0; isClose && number <= runs; number++) {
            producers.add(connected(args[0]));
        }
        System.out.println("ready");
        new BufferedReader(new InputStreamReader(System.in)).readLine();
        if (!isClose) {
            System.out.println("{\"elapsed_us\": 0, \"text\": \"no limit\"}");
        }
        for (int run = -1; !producers.isEmpty(); run++) {
            Thread.sleep(2, ThreadLocalRandom.current().nextInt(1_000_000));
            KafkaProducer<byte[], byte[]> producer = producers.removeFirst();
            for (int number = 0; number < RECORDS; number++) {
                producer.send(new ProducerRecord<>("t", new byte[100]));
            }
            long startedNs = System.nanoTime();
            String text = "success";
            try {
                producer.close(limit);
            } catch (RuntimeException error) {
                text = error.getClass().getSimpleName();
            }
            if (run >= 0) {
                long elapsedUs = (System.nanoTime() - startedNs) / 1000;
                System.out.println("{\"elapsed_us\": " + elapsedUs + ", \"text\": \"" + text + "\"}");
            }
        }
        Runtime.getRuntime().halt(0);
    }

    private static KafkaProducer<byte[], byte[]> connected(String servers) throws Exception {
        Properties config = new Properties();
        config.put("bootstrap.servers", servers);
        String serializer = "org.apache.kafka.common.serialization.ByteArraySerializer";
        config.put("key.serializer", serializer);
        config.put("value.serializer", serializer);
        KafkaProducer<byte[], byte[]> producer = new KafkaProducer<>(config);
        producer.send(new ProducerRecord<>("t", new byte[1])).get();
        return producer;
    }
}
