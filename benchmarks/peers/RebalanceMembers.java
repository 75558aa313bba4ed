import java.io.BufferedReader;
import java.io.InputStreamReader;
import java.io.PrintStream;
import java.nio.charset.StandardCharsets;
import java.time.Duration;
import java.util.ArrayDeque;
import java.util.Collection;
import java.util.Deque;
import java.util.List;
import java.util.Properties;
import java.util.concurrent.atomic.AtomicBoolean;
import java.util.stream.Collectors;
import org.apache.kafka.clients.consumer.ConsumerRebalanceListener;
import org.apache.kafka.clients.consumer.KafkaConsumer;
import org.apache.kafka.common.TopicPartition;
import org.apache.kafka.common.serialization.ByteArrayDeserializer;

/**
 * Members of one group, a thread each: {@code RebalanceMembers PREFIX COUNT TOPIC key=value...}. Lines of input: "add"
 * starts one more, "leave" lets the newest leave; they all leave when the input ends. What it prints is told in
 * bench_rebalance.py.
 */
final class RebalanceMembers {
    private static final PrintStream OUT = new PrintStream(System.out, true, StandardCharsets.UTF_8);

    private RebalanceMembers() {}

    private static final class Member extends Thread implements ConsumerRebalanceListener {
        private final AtomicBoolean ends = new AtomicBoolean();
        private final String name;
        private final String topic;
        private final Properties properties = new Properties();

        Member(String name, String topic, Properties properties) {
            this.name = name;
            this.topic = topic;
            this.properties.putAll(properties);
            this.properties.put("client.id", name);
        }

        @Override
        public void run() {
            try (KafkaConsumer<byte[], byte[]> consumer =
                    new KafkaConsumer<>(properties, new ByteArrayDeserializer(), new ByteArrayDeserializer())) {
                consumer.subscribe(List.of(topic), this);
                while (!ends.get()) {
                    consumer.poll(Duration.ofMillis(100));
                }
            }
        }

        @Override
        public void onPartitionsAssigned(Collection<TopicPartition> partitions) {
            tell("takes", partitions);
        }

        @Override
        public void onPartitionsRevoked(Collection<TopicPartition> partitions) {
            tell("gives", partitions);
        }

        @Override
        public void onPartitionsLost(Collection<TopicPartition> partitions) {
            tell("gives", partitions);
        }

        private void tell(String what, Collection<TopicPartition> partitions) {
            if (!partitions.isEmpty()) {
                String numbers = partitions.stream()
                        .map(one -> String.valueOf(one.partition()))
                        .collect(Collectors.joining(" "));
                OUT.println(what + " " + name + " " + System.nanoTime() / 1_000_000 + " " + numbers);
            }
        }
    }

    public static void main(String[] arguments) throws Exception {
        Properties properties = new Properties();
        for (int i = 3; i < arguments.length; i++) {
            String[] pair = arguments[i].split("=", 2);
            properties.put(pair[0], pair[1]);
        }
        Deque<Member> members = new ArrayDeque<>();
        for (int i = 0; i < Integer.parseInt(arguments[1]); i++) {
            add(members, arguments, properties);
        }
        BufferedReader input = new BufferedReader(new InputStreamReader(System.in, StandardCharsets.UTF_8));
        for (String line = input.readLine(); line != null; line = input.readLine()) {
            if (line.equals("add")) {
                add(members, arguments, properties);
            } else if (line.equals("leave")) {
                members.removeLast().ends.set(true);
            }
        }
        members.forEach(member -> member.ends.set(true));
    }

    private static void add(Deque<Member> members, String[] arguments, Properties properties) {
        Member member = new Member(arguments[0] + members.size(), arguments[2], properties);
        members.addLast(member);
        member.start();
    }
}
