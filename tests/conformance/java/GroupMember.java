import java.io.PrintStream;
import java.nio.charset.StandardCharsets;
import java.time.Duration;
import java.util.Collection;
import java.util.List;
import java.util.Map;
import java.util.Properties;
import java.util.TreeMap;
import java.util.concurrent.atomic.AtomicBoolean;
import java.util.stream.Collectors;
import org.apache.kafka.clients.consumer.ConsumerRebalanceListener;
import org.apache.kafka.clients.consumer.ConsumerRecord;
import org.apache.kafka.clients.consumer.ConsumerRecords;
import org.apache.kafka.clients.consumer.KafkaConsumer;
import org.apache.kafka.clients.consumer.OffsetAndMetadata;
import org.apache.kafka.common.KafkaException;
import org.apache.kafka.common.TopicPartition;
import org.apache.kafka.common.serialization.StringDeserializer;

/**
 * A member of a group until its standard input ends: {@code GroupMember TOPIC key=value...}, the pairs being client
 * properties. The lines that it prints are told in group_member.py.
 */
final class GroupMember implements ConsumerRebalanceListener {
    private static final PrintStream OUT = new PrintStream(System.out, true, StandardCharsets.UTF_8);
    private static final Duration COMMIT_TIMEOUT = Duration.ofSeconds(10);

    private final KafkaConsumer<String, String> consumer;
    private final String topic;
    private final Map<TopicPartition, OffsetAndMetadata> uncommitted = new TreeMap<>(
            (one, other) -> Integer.compare(one.partition(), other.partition()));

    private GroupMember(KafkaConsumer<String, String> consumer, String topic) {
        this.consumer = consumer;
        this.topic = topic;
    }

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
            new GroupMember(consumer, arguments[0]).run(ends);
        }
    }

    private void run(AtomicBoolean ends) {
        consumer.subscribe(List.of(topic), this);
        while (!ends.get()) {
            ConsumerRecords<String, String> records = consumer.poll(Duration.ofMillis(50));
            for (ConsumerRecord<String, String> record : records) {
                OUT.println("read " + record.partition() + " " + record.offset() + " " + record.value());
                uncommitted.put(
                        new TopicPartition(record.topic(), record.partition()),
                        new OffsetAndMetadata(record.offset() + 1));
            }
            commit();
        }
    }

    private void commit() {
        if (uncommitted.isEmpty()) {
            return;
        }
        try {
            consumer.commitSync(uncommitted, COMMIT_TIMEOUT);
        } catch (KafkaException error) {
            OUT.println("uncommitted " + error);
            return;
        }
        OUT.println("committed " + uncommitted.entrySet().stream()
                .map(one -> one.getKey().partition() + "=" + one.getValue().offset())
                .collect(Collectors.joining(" ")));
        uncommitted.clear();
    }

    @Override
    public void onPartitionsAssigned(Collection<TopicPartition> partitions) {
        tell("takes", partitions);
    }

    @Override
    public void onPartitionsRevoked(Collection<TopicPartition> partitions) {
        commit();
        tell("gives", partitions);
        uncommitted.keySet().removeAll(partitions);
    }

    @Override
    public void onPartitionsLost(Collection<TopicPartition> partitions) {
        tell("loses", partitions);
        uncommitted.keySet().removeAll(partitions);
    }

    private static void tell(String what, Collection<TopicPartition> partitions) {
        if (!partitions.isEmpty()) {
            OUT.println(what + " " + System.nanoTime() / 1_000_000 + " " + partitions.stream()
                    .map(TopicPartition::partition).sorted().map(String::valueOf).collect(Collectors.joining(" ")));
        }
    }
}
