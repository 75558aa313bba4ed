import java.io.BufferedReader;
import java.io.InputStreamReader;
import java.time.Duration;
import java.util.ArrayDeque;
import java.util.List;
import java.util.Map;
import java.util.Properties;
import java.util.Set;
import java.util.concurrent.ThreadLocalRandom;
import org.apache.kafka.clients.consumer.CloseOptions;
import org.apache.kafka.clients.consumer.KafkaConsumer;
import org.apache.kafka.clients.consumer.OffsetAndMetadata;
import org.apache.kafka.common.TopicPartition;

/**
 * The Java client: each blocking call of `KafkaConsumer` with a `Duration`, by either group protocol.
 *
 * Arguments: servers, call, group, limit in ms, runs, classic or consumer. Prints as the Python programs do.
 */
public class CallWithLimit {
    private static final TopicPartition TP = new TopicPartition("t", 0);
    private static final ArrayDeque<KafkaConsumer<byte[], byte[]>> MEMBERS = new ArrayDeque<>();
    private static int topics = 0;

    public static void main(String[] args) throws Exception {
        System.setProperty("org.slf4j.simpleLogger.defaultLogLevel", "off");
        String call = args[1];
        Duration limit = Duration.ofMillis(Long.parseLong(args[3]));
        int runs = Integer.parseInt(args[4]);
        if (call.equals("close")) {
            for (int number = 0; number <= runs; number++) {
                MEMBERS.add(member(args[0], args[2] + "-" + number, args[5]));
            }
        } else {
            MEMBERS.add(member(args[0], args[2], args[5]));
        }
        System.out.println("ready");
        new BufferedReader(new InputStreamReader(System.in)).readLine();
        for (int run = -1; run < runs; run++) {
            Thread.sleep(2, ThreadLocalRandom.current().nextInt(1_000_000));
            long startedNs = System.nanoTime();
            String text = attempt(call, limit);
            long elapsedUs = (System.nanoTime() - startedNs) / 1000;
            if (call.equals("close") && elapsedUs >= limit.toNanos() / 1000) {
                text = "returned";
            }
            if (run >= 0) {
                System.out.println("{\"elapsed_us\": " + elapsedUs + ", \"text\": \"" + quoted(text) + "\"}");
            }
        }
        Runtime.getRuntime().halt(0);
    }

    private static KafkaConsumer<byte[], byte[]> member(String servers, String group, String protocol) {
        Properties config = new Properties();
        config.put("bootstrap.servers", servers);
        config.put("group.id", group);
        config.put("group.protocol", protocol);
        config.put("auto.offset.reset", "earliest");
        String deserializer = "org.apache.kafka.common.serialization.ByteArrayDeserializer";
        config.put("key.deserializer", deserializer);
        config.put("value.deserializer", deserializer);
        KafkaConsumer<byte[], byte[]> consumer = new KafkaConsumer<>(config);
        consumer.subscribe(List.of("t"));
        long untilMs = System.currentTimeMillis() + 60_000;
        while (!consumer.poll(Duration.ofMillis(300)).isEmpty() || consumer.assignment().isEmpty()) {
            if (System.currentTimeMillis() > untilMs) {
                throw new IllegalStateException("no assignment");
            }
        }
        return consumer;
    }

    private static String attempt(String call, Duration limit) {
        KafkaConsumer<byte[], byte[]> consumer = MEMBERS.getFirst();
        try {
            switch (call) {
                case "poll" -> {
                    return consumer.poll(limit).isEmpty() ? "timeout" : "success";
                }
                case "position" -> {
                    consumer.seekToBeginning(List.of(TP));
                    consumer.position(TP, limit);
                }
                case "commit_sync" -> consumer.commitSync(Map.of(TP, new OffsetAndMetadata(0)), limit);
                case "committed" -> consumer.committed(Set.of(TP), limit);
                case "partitions_for" -> consumer.partitionsFor("u" + topics++, limit);
                case "list_topics" -> consumer.listTopics(limit);
                case "beginning_offsets" -> consumer.beginningOffsets(List.of(TP), limit);
                case "end_offsets" -> consumer.endOffsets(List.of(TP), limit);
                case "offsets_for_times" -> consumer.offsetsForTimes(Map.of(TP, 0L), limit);
                case "client_instance_id" -> consumer.clientInstanceId(limit);
                case "close" -> MEMBERS.removeFirst().close(CloseOptions.timeout(limit));
                default -> throw new IllegalArgumentException(call);
            }
            return "success";
        } catch (RuntimeException error) {
            return inWords(error);
        }
    }

    private static String inWords(Throwable error) {
        String words = error.getClass().getSimpleName() + ": " + error.getMessage();
        return error.getCause() == null ? words : words + " <- " + inWords(error.getCause());
    }

    private static String quoted(String text) {
        return text.replace("\\", "\\\\").replace("\"", "\\\"").replaceAll("\\p{Cntrl}", " ");
    }
}
