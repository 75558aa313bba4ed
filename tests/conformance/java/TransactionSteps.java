import java.io.BufferedReader;
import java.io.IOException;
import java.io.InputStreamReader;
import java.io.PrintStream;
import java.nio.charset.StandardCharsets;
import java.time.Duration;
import java.util.LinkedHashMap;
import java.util.Map;
import java.util.Properties;
import java.util.concurrent.ExecutionException;
import java.util.concurrent.TimeUnit;
import org.apache.kafka.clients.consumer.ConsumerGroupMetadata;
import org.apache.kafka.clients.consumer.KafkaConsumer;
import org.apache.kafka.clients.consumer.OffsetAndMetadata;
import org.apache.kafka.clients.producer.KafkaProducer;
import org.apache.kafka.clients.producer.ProducerRecord;
import org.apache.kafka.common.TopicPartition;
import org.apache.kafka.common.serialization.StringDeserializer;
import org.apache.kafka.common.serialization.StringSerializer;

/**
 * Java's transactional producers, step by step: {@code TransactionSteps key=value...}, the pairs being client properties.
 *
 * <p>Each line of standard input is a step, {@code NAME VERB WORD...}; each is answered with a line, ok or the simple name
 * of the exception. NAME is a producer, made at its first step with its name's part before "/" as transactional.id. Verbs:
 * init, begin, send TOPIC PARTITION VALUE, offsets GROUP TOPIC PARTITION OFFSET, commit, abort.
 */
final class TransactionSteps {
    private static final long WAIT_S = 30;
    private static final PrintStream OUT = new PrintStream(System.out, true, StandardCharsets.UTF_8);

    private TransactionSteps() {}

    public static void main(String[] arguments) throws IOException {
        Map<String, KafkaProducer<String, String>> producers = new LinkedHashMap<>();
        BufferedReader lines = new BufferedReader(new InputStreamReader(System.in, StandardCharsets.UTF_8));
        for (String line = lines.readLine(); line != null; line = lines.readLine()) {
            String[] words = line.split(" ");
            KafkaProducer<String, String> producer =
                    producers.computeIfAbsent(words[0], name -> producer(arguments, name.split("/")[0]));
            OUT.println(outcome(arguments, producer, words));
        }
        producers.values().forEach(producer -> producer.close(Duration.ofSeconds(1)));
    }

    private static Properties properties(String[] arguments) {
        Properties properties = new Properties();
        for (String argument : arguments) {
            String[] pair = argument.split("=", 2);
            properties.put(pair[0], pair[1]);
        }
        return properties;
    }

    /** A group as somebody knows it who is no member. */
    private static ConsumerGroupMetadata group(String[] arguments, String groupId) {
        Properties properties = properties(arguments);
        properties.put("group.id", groupId);
        StringDeserializer strings = new StringDeserializer();
        try (KafkaConsumer<String, String> consumer = new KafkaConsumer<>(properties, strings, strings)) {
            return consumer.groupMetadata();
        }
    }

    private static KafkaProducer<String, String> producer(String[] arguments, String transactionalId) {
        Properties properties = properties(arguments);
        properties.put("transactional.id", transactionalId);
        return new KafkaProducer<>(properties, new StringSerializer(), new StringSerializer());
    }

    private static String outcome(String[] arguments, KafkaProducer<String, String> producer, String[] words) {
        try {
            step(arguments, producer, words);
            return "ok";
        } catch (ExecutionException e) {
            return e.getCause().getClass().getSimpleName();
        } catch (Exception e) {
            return e.getClass().getSimpleName();
        }
    }

    private static void step(String[] arguments, KafkaProducer<String, String> producer, String[] words)
            throws Exception {
        switch (words[1]) {
            case "init" -> producer.initTransactions();
            case "begin" -> producer.beginTransaction();
            case "send" -> producer.send(new ProducerRecord<>(words[2], Integer.valueOf(words[3]), null, words[4]))
                    .get(WAIT_S, TimeUnit.SECONDS);
            case "offsets" -> producer.sendOffsetsToTransaction(
                    Map.of(
                            new TopicPartition(words[3], Integer.parseInt(words[4])),
                            new OffsetAndMetadata(Long.parseLong(words[5]))),
                    group(arguments, words[2]));
            case "commit" -> producer.commitTransaction();
            case "abort" -> producer.abortTransaction();
            default -> throw new IllegalArgumentException(words[1]);
        }
    }
}
