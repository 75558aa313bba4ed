import java.io.PrintStream;
import java.nio.charset.StandardCharsets;
import java.time.Duration;
import java.util.List;
import java.util.Properties;
import java.util.concurrent.atomic.AtomicBoolean;
import java.util.stream.Collectors;
import org.apache.kafka.clients.consumer.ConsumerRecord;
import org.apache.kafka.clients.consumer.ConsumerRecords;
import org.apache.kafka.clients.consumer.KafkaConsumer;
import org.apache.kafka.common.serialization.StringDeserializer;

/**
 * A member of a group until its standard input ends.
 *
 * <p>{@code GroupMember TOPIC key=value...}, the pairs being client properties. Prints {@code assigned 0 1} whenever the
 * assignment has changed and {@code read PARTITION VALUE} for each record, whose offset is committed before the next poll.
 */
final class GroupMember {
    private static final PrintStream OUT = new PrintStream(System.out, true, StandardCharsets.UTF_8);

    private GroupMember() {}

    public static void main(String[] arguments) throws Exception {
        Properties properties = new Properties();
        for (int i = 1; i < arguments.length; i++) {
            String[] pair = arguments[i].split("=", 2);
            properties.put(pair[0], pair[1]);
        }
        AtomicBoolean ends = new AtomicBoolean();
        Thread input = new Thread(() -> {
            try {
                while (System.in.read() >= 0) {}
            } catch (java.io.IOException error) {
                error.printStackTrace();
            }
            ends.set(true);
        });
        input.setDaemon(true);
        input.start();
        try (KafkaConsumer<String, String> consumer =
                new KafkaConsumer<>(properties, new StringDeserializer(), new StringDeserializer())) {
            consumer.subscribe(List.of(arguments[0]));
            String last = "";
            while (!ends.get()) {
                ConsumerRecords<String, String> records = consumer.poll(Duration.ofMillis(50));
                String now = consumer.assignment().stream()
                        .map(one -> one.partition()).sorted().map(String::valueOf).collect(Collectors.joining(" "));
                if (!now.equals(last)) {
                    OUT.println(("assigned " + now).trim());
                    last = now;
                }
                for (ConsumerRecord<String, String> record : records) {
                    OUT.println("read " + record.partition() + " " + record.value());
                }
                if (!records.isEmpty()) {
                    consumer.commitSync(Duration.ofSeconds(10));
                }
            }
        }
    }
}
