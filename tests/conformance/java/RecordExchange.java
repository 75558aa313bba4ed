import com.fasterxml.jackson.databind.JsonNode;
import com.fasterxml.jackson.databind.ObjectMapper;
import com.fasterxml.jackson.databind.node.ArrayNode;
import com.fasterxml.jackson.databind.node.ObjectNode;
import java.io.BufferedReader;
import java.io.IOException;
import java.io.InputStreamReader;
import java.io.PrintStream;
import java.nio.charset.StandardCharsets;
import java.time.Duration;
import java.util.ArrayList;
import java.util.Base64;
import java.util.Iterator;
import java.util.List;
import java.util.Map;
import java.util.Properties;
import java.util.concurrent.Future;
import org.apache.kafka.clients.admin.Admin;
import org.apache.kafka.clients.consumer.ConsumerRecord;
import org.apache.kafka.clients.consumer.KafkaConsumer;
import org.apache.kafka.clients.producer.KafkaProducer;
import org.apache.kafka.clients.producer.ProducerRecord;
import org.apache.kafka.clients.producer.RecordMetadata;
import org.apache.kafka.common.TopicPartition;
import org.apache.kafka.common.header.Header;
import org.apache.kafka.common.serialization.ByteArrayDeserializer;
import org.apache.kafka.common.serialization.ByteArraySerializer;

/**
 * The Java client as a filter: records in and out as JSON lines, all bytes in base64.
 *
 * <p>{@code RecordExchange produce|consume|list TOPIC key=value...}, the pairs being client properties. produce reads lines
 * from standard input; with transactional.id all are one transaction, aborted with exchange.abort=true. consume prints all
 * records up to the present end of each partition. list prints topic names. The caller bounds the time.
 */
final class RecordExchange {
    private static final ObjectMapper JSON = new ObjectMapper();
    private static final PrintStream OUT = new PrintStream(System.out, false, StandardCharsets.UTF_8);

    private RecordExchange() {}

    public static void main(String[] arguments) throws Exception {
        Properties properties = new Properties();
        for (int i = 2; i < arguments.length; i++) {
            String[] pair = arguments[i].split("=", 2);
            properties.put(pair[0], pair[1]);
        }
        switch (arguments[0]) {
            case "produce" -> produce(arguments[1], properties);
            case "consume" -> consume(arguments[1], properties);
            case "list" -> list(properties);
            default -> throw new IllegalArgumentException(arguments[0]);
        }
        OUT.flush();
    }

    private static void produce(String topic, Properties properties) throws Exception {
        boolean abort = Boolean.parseBoolean((String) properties.remove("exchange.abort"));
        boolean transactional = properties.containsKey("transactional.id");
        properties.putIfAbsent("acks", "all");
        properties.putIfAbsent("linger.ms", "50");
        properties.putIfAbsent("max.request.size", "67108864");
        try (KafkaProducer<byte[], byte[]> producer =
                new KafkaProducer<>(properties, new ByteArraySerializer(), new ByteArraySerializer())) {
            if (transactional) {
                producer.initTransactions();
                producer.beginTransaction();
            }
            List<Future<RecordMetadata>> sent = new ArrayList<>();
            BufferedReader input = new BufferedReader(new InputStreamReader(System.in, StandardCharsets.UTF_8));
            for (String line = input.readLine(); line != null; line = input.readLine()) {
                sent.add(producer.send(parse(topic, JSON.readTree(line))));
            }
            producer.flush();
            for (Future<RecordMetadata> one : sent) {
                one.get();
            }
            if (transactional && abort) {
                producer.abortTransaction();
            } else if (transactional) {
                producer.commitTransaction();
            }
        }
    }

    private static ProducerRecord<byte[], byte[]> parse(String topic, JsonNode line) throws IOException {
        Long timestamp = line.get("timestamp").isNull() ? null : Long.valueOf(line.get("timestamp").asLong());
        ProducerRecord<byte[], byte[]> record =
                new ProducerRecord<>(topic, line.get("partition").asInt(), timestamp, bytes(line.get("key")), bytes(line.get("value")));
        for (Iterator<JsonNode> headers = line.get("headers").elements(); headers.hasNext(); ) {
            JsonNode header = headers.next();
            record.headers().add(header.get(0).asText(), bytes(header.get(1)));
        }
        return record;
    }

    private static void consume(String topic, Properties properties) {
        properties.put("auto.offset.reset", "earliest");
        properties.put("enable.auto.commit", "false");
        properties.putIfAbsent("fetch.max.wait.ms", "50");
        try (KafkaConsumer<byte[], byte[]> consumer =
                new KafkaConsumer<>(properties, new ByteArrayDeserializer(), new ByteArrayDeserializer())) {
            List<TopicPartition> partitions = new ArrayList<>();
            consumer.partitionsFor(topic).forEach(info -> partitions.add(new TopicPartition(topic, info.partition())));
            consumer.assign(partitions);
            consumer.seekToBeginning(partitions);
            Map<TopicPartition, Long> ends = consumer.endOffsets(partitions);
            while (partitions.stream().anyMatch(one -> consumer.position(one) < ends.get(one))) {
                for (ConsumerRecord<byte[], byte[]> record : consumer.poll(Duration.ofMillis(500))) {
                    OUT.println(format(record));
                }
            }
        }
    }

    private static ObjectNode format(ConsumerRecord<byte[], byte[]> record) {
        ObjectNode line = JSON.createObjectNode();
        line.put("partition", record.partition()).put("offset", record.offset()).put("timestamp", record.timestamp());
        line.put("key", text(record.key())).put("value", text(record.value()));
        ArrayNode headers = line.putArray("headers");
        for (Header header : record.headers()) {
            headers.addArray().add(header.key()).add(text(header.value()));
        }
        return line;
    }

    private static void list(Properties properties) throws Exception {
        try (Admin admin = Admin.create(properties)) {
            admin.listTopics().names().get().forEach(OUT::println);
        }
    }

    private static byte[] bytes(JsonNode text) {
        return text.isNull() ? null : Base64.getDecoder().decode(text.asText());
    }

    private static String text(byte[] data) {
        return data == null ? null : Base64.getEncoder().encodeToString(data);
    }
}
