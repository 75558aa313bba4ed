import java.io.BufferedReader;
import java.io.InputStreamReader;
import java.nio.ByteBuffer;
import java.nio.charset.StandardCharsets;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.Properties;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.locks.LockSupport;
import org.apache.kafka.clients.consumer.ConsumerRecord;
import org.apache.kafka.clients.consumer.KafkaConsumer;
import org.apache.kafka.clients.producer.KafkaProducer;
import org.apache.kafka.clients.producer.ProducerRecord;
import org.apache.kafka.common.TopicPartition;
import org.apache.kafka.common.serialization.ByteArrayDeserializer;
import org.apache.kafka.common.serialization.ByteArraySerializer;

/**
 * The Java client: how long single records take, sent at a rate; latency_kctl.py is the same for kctl.
 *
 * Arguments: servers, topic, ack or end-to-end, linger.ms, records, records a second. Says ready, then answers each line
 * on standard input with a line of latencies in microseconds, one of each record of a round.
 */
public class ProduceLatency {
    private static final int SIZE_BYTES = 100;
    private static final long PATIENCE_S = 60;

    private final KafkaProducer<byte[], byte[]> producer;
    private final KafkaConsumer<byte[], byte[]> consumer;
    private final String topic;
    private final int records;
    private final long everyNs;
    private int round = 0;

    private ProduceLatency(String[] args) {
        topic = args[1];
        records = Integer.parseInt(args[4]);
        everyNs = 1_000_000_000L / Integer.parseInt(args[5]);
        Properties config = new Properties();
        config.put("bootstrap.servers", args[0]);
        config.put("linger.ms", args[3]);
        config.put("acks", "all");
        producer = new KafkaProducer<>(config, new ByteArraySerializer(), new ByteArraySerializer());
        producer.partitionsFor(topic);
        consumer = args[2].equals("end-to-end") ? newConsumer(args[0]) : null;
    }

    private KafkaConsumer<byte[], byte[]> newConsumer(String servers) {
        Properties config = new Properties();
        config.put("bootstrap.servers", servers);
        config.put("enable.auto.commit", "false");
        KafkaConsumer<byte[], byte[]> made =
                new KafkaConsumer<>(config, new ByteArrayDeserializer(), new ByteArrayDeserializer());
        List<TopicPartition> partitions = new ArrayList<>();
        made.partitionsFor(topic).forEach(info -> partitions.add(new TopicPartition(topic, info.partition())));
        made.assign(partitions);
        made.seekToEnd(partitions);
        partitions.forEach(made::position);
        return made;
    }

    public static void main(String[] args) throws Exception {
        System.setProperty("org.slf4j.simpleLogger.defaultLogLevel", "off");
        ProduceLatency program = new ProduceLatency(args);
        System.out.println("ready");
        BufferedReader input = new BufferedReader(new InputStreamReader(System.in, StandardCharsets.UTF_8));
        while (input.readLine() != null) {
            StringBuilder line = new StringBuilder();
            for (long latencyUs : program.measure()) {
                line.append(line.length() == 0 ? "[" : ", ").append(latencyUs);
            }
            System.out.println(line.append("]"));
        }
        Runtime.getRuntime().halt(0);
    }

    private long[] measure() throws Exception {
        round++;
        long[] sentNs = new long[records];
        long[] latencyUs = new long[records];
        CountDownLatch left = new CountDownLatch(records);
        Thread reader = consumer == null ? null : new Thread(() -> read(sentNs, latencyUs, left));
        if (reader != null) {
            reader.start();
        }
        long startNs = System.nanoTime();
        for (int number = 0; number < records; number++) {
            long dueNs = startNs + number * everyNs;
            for (long now = System.nanoTime(); now < dueNs; now = System.nanoTime()) {
                LockSupport.parkNanos(dueNs - now);
            }
            byte[] value = ByteBuffer.allocate(SIZE_BYTES).putInt(round).putInt(number).array();
            int at = number;
            sentNs[at] = System.nanoTime();
            producer.send(new ProducerRecord<>(topic, value), (metadata, error) -> {
                if (error != null) {
                    throw new IllegalStateException(error);
                }
                if (reader == null) {
                    latencyUs[at] = (System.nanoTime() - sentNs[at]) / 1000;
                    left.countDown();
                }
            });
        }
        if (!left.await(PATIENCE_S, TimeUnit.SECONDS)) {
            throw new IllegalStateException(left.getCount() + " records did not arrive");
        }
        if (reader != null) {
            reader.join();
        }
        return latencyUs;
    }

    private void read(long[] sentNs, long[] latencyUs, CountDownLatch left) {
        while (left.getCount() > 0) {
            for (ConsumerRecord<byte[], byte[]> record : consumer.poll(Duration.ofMillis(100))) {
                ByteBuffer value = ByteBuffer.wrap(record.value());
                if (value.getInt() == round) {
                    int number = value.getInt();
                    latencyUs[number] = (System.nanoTime() - sentNs[number]) / 1000;
                    left.countDown();
                }
            }
        }
    }
}
