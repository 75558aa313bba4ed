import com.fasterxml.jackson.databind.JsonNode;
import com.fasterxml.jackson.databind.ObjectMapper;
import com.google.protobuf.DescriptorProtos.FileDescriptorProto;
import com.google.protobuf.DescriptorProtos.FileDescriptorSet;
import com.google.protobuf.Descriptors.FileDescriptor;
import com.google.protobuf.DynamicMessage;
import com.google.protobuf.Message;
import io.apicurio.registry.serde.avro.AvroKafkaDeserializer;
import io.apicurio.registry.serde.avro.AvroKafkaSerializer;
import io.apicurio.registry.serde.jsonschema.JsonSchemaKafkaDeserializer;
import io.apicurio.registry.serde.jsonschema.JsonSchemaKafkaSerializer;
import io.apicurio.registry.serde.protobuf.ProtobufKafkaDeserializer;
import io.apicurio.registry.serde.protobuf.ProtobufKafkaSerializer;
import java.io.BufferedReader;
import java.io.ByteArrayOutputStream;
import java.io.InputStreamReader;
import java.nio.charset.StandardCharsets;
import java.util.ArrayList;
import java.util.Base64;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import org.apache.avro.Schema;
import org.apache.avro.generic.GenericDatumReader;
import org.apache.avro.generic.GenericDatumWriter;
import org.apache.avro.generic.GenericRecord;
import org.apache.avro.io.DecoderFactory;
import org.apache.avro.io.Encoder;
import org.apache.avro.io.EncoderFactory;
import org.apache.kafka.common.header.internals.RecordHeaders;
import org.apache.kafka.common.serialization.Deserializer;
import org.apache.kafka.common.serialization.Serializer;

/**
 * Apicurio's serializers and deserializers of Java, in Confluent's wire format.
 *
 * <p>Argument: the URL of the registry's own interface. Each line of the input is one call, its words apart by a blank
 * and bytes in base64; each line of the output is the response to one:
 *
 * <pre>
 * write TOPIC avro SCHEMA JSON             the value of JSON in Avro's own JSON encoding
 * write TOPIC json JSON                    by the latest schema of TOPIC-value
 * write TOPIC protobuf FILES NAME MESSAGE  FILES: a FileDescriptorSet, each file after those that it needs;
 *                                          protobuf-own: the message's name before it, Apicurio's form, not its index
 * read TOPIC avro|json VALUE               responds with JSON
 * read TOPIC protobuf VALUE NAME           responds with the bytes of the message
 * </pre>
 */
public final class ApicurioSerde {
    private static final ObjectMapper JSON = new ObjectMapper();
    private final Map<String, Serializer<Object>> serializers = new HashMap<>();
    private final Map<String, Deserializer<Object>> deserializers = new HashMap<>();

    private ApicurioSerde(String url) {
        Map<String, Object> own = new HashMap<>();
        own.put("apicurio.registry.url", url);
        own.put("apicurio.registry.auto-register", true);
        Map<String, Object> properties = new HashMap<>(own);
        properties.put("apicurio.registry.serde.send-type-ref", false);
        properties.put("apicurio.registry.serde.read-type-ref", false);
        properties.put("apicurio.registry.serde.send-indexes", true);
        properties.put("apicurio.registry.serde.read-indexes", true);
        Map<String, Object> latest = new HashMap<>(properties);
        latest.put("apicurio.registry.auto-register", false);
        latest.put("apicurio.registry.find-latest", true);
        add("avro", new AvroKafkaSerializer<Object>(), new AvroKafkaDeserializer<Object>(), properties);
        properties.put("apicurio.registry.deserializer.value.return-class", DynamicMessage.class);
        add("protobuf", new ProtobufKafkaSerializer<Message>(), new ProtobufKafkaDeserializer<Message>(), properties);
        add("protobuf-own", new ProtobufKafkaSerializer<Message>(), new ProtobufKafkaDeserializer<Message>(), own);
        add("json", new JsonSchemaKafkaSerializer<Object>(), new JsonSchemaKafkaDeserializer<Object>(), latest);
    }

    @SuppressWarnings("unchecked")
    private void add(String format, Serializer<?> serializer, Deserializer<?> deserializer, Map<String, Object> with) {
        serializer.configure(with, false);
        deserializer.configure(with, false);
        serializers.put(format, (Serializer<Object>) serializer);
        deserializers.put(format, (Deserializer<Object>) deserializer);
    }

    public static void main(String[] arguments) throws Exception {
        ApicurioSerde serde = new ApicurioSerde(arguments[0]);
        BufferedReader lines = new BufferedReader(new InputStreamReader(System.in, StandardCharsets.UTF_8));
        for (String line = lines.readLine(); line != null; line = lines.readLine()) {
            String[] words = line.split(" ");
            List<byte[]> values = new ArrayList<>();
            for (int index = 3; index < words.length; index++) {
                values.add(Base64.getDecoder().decode(words[index]));
            }
            String response;
            try {
                byte[] made = words[0].equals("write")
                        ? serde.serializers.get(words[2]).serialize(words[1], value(words[2], values))
                        : serde.read(words[1], words[2], values);
                response = Base64.getEncoder().encodeToString(made);
            } catch (Throwable error) { // a recursive schema overflows its stack
                response = "error " + error;
            }
            System.out.println(response.replace('\n', ' '));
        }
        System.exit(0); // its HTTP client's threads would go on
    }

    private byte[] read(String topic, String format, List<byte[]> values) throws Exception {
        RecordHeaders headers = new RecordHeaders();
        if (values.size() > 1) { // with indexes Apicurio's deserializer takes the message's name from a header alone
            headers.add("apicurio.value.msgType", values.get(1));
        }
        return bytes(deserializers.get(format).deserialize(topic, headers, values.get(0)));
    }

    private static Object value(String format, List<byte[]> values) throws Exception {
        if (format.equals("json")) {
            return JSON.readTree(values.get(0));
        }
        if (format.equals("avro")) {
            Schema schema = new Schema.Parser().parse(new String(values.get(0), StandardCharsets.UTF_8));
            String json = new String(values.get(1), StandardCharsets.UTF_8);
            return new GenericDatumReader<>(schema).read(null, DecoderFactory.get().jsonDecoder(schema, json));
        }
        String name = new String(values.get(1), StandardCharsets.UTF_8);
        Map<String, FileDescriptor> files = new HashMap<>();
        FileDescriptor last = null;
        for (FileDescriptorProto file : FileDescriptorSet.parseFrom(values.get(0)).getFileList()) {
            FileDescriptor[] needed = file.getDependencyList().stream().map(files::get).toArray(FileDescriptor[]::new);
            last = FileDescriptor.buildFrom(file, needed);
            files.put(file.getName(), last);
        }
        return DynamicMessage.parseFrom(last.findMessageTypeByName(name), values.get(2));
    }

    private static byte[] bytes(Object value) throws Exception {
        if (value instanceof Message) {
            return ((Message) value).toByteArray();
        }
        if (value instanceof GenericRecord) {
            Schema schema = ((GenericRecord) value).getSchema();
            ByteArrayOutputStream out = new ByteArrayOutputStream();
            Encoder encoder = EncoderFactory.get().jsonEncoder(schema, out);
            new GenericDatumWriter<Object>(schema).write(value, encoder);
            encoder.flush();
            return out.toByteArray();
        }
        JsonNode tree = JSON.valueToTree(value);
        return JSON.writeValueAsBytes(tree);
    }
}
