import com.fasterxml.jackson.databind.JsonNode;
import java.io.BufferedReader;
import java.io.InputStreamReader;
import java.io.PrintStream;
import java.lang.reflect.InvocationTargetException;
import java.nio.ByteBuffer;
import java.util.HexFormat;
import org.apache.kafka.common.protocol.ApiKeys;
import org.apache.kafka.common.protocol.ByteBufferAccessor;
import org.apache.kafka.common.protocol.Message;
import org.apache.kafka.common.protocol.ObjectSerializationCache;
import org.apache.kafka.common.protocol.Readable;

/**
 * Reads lines `message version hex`, decodes each with the message class of that name, and answers a line
 * `hex json`: the same message encoded again, and what the class's own JSON converter makes of it. `ERROR text` when
 * the class refuses the bytes. A line `header key version` is answered by the request and response header versions,
 * `default message version` by the hex of a new message.
 */
public class Reencode {
    private static final String PACKAGE = "org.apache.kafka.common.message.";

    public static void main(String[] args) throws Exception {
        BufferedReader in = new BufferedReader(new InputStreamReader(System.in));
        PrintStream out = new PrintStream(System.out, false, "UTF-8");
        for (String line = in.readLine(); line != null; line = in.readLine()) {
            String[] words = line.split(" ", -1);
            out.println(switch (words[0]) {
                case "header" -> header(words);
                case "default" -> fresh(words);
                default -> message(words);
            });
        }
        out.flush();
    }

    private static String header(String[] words) {
        ApiKeys key = ApiKeys.forId(Integer.parseInt(words[1]));
        short version = Short.parseShort(words[2]);
        return key.requestHeaderVersion(version) + " " + key.responseHeaderVersion(version);
    }

    private static Class<?> type(String name) throws ClassNotFoundException {
        try {
            return Class.forName(PACKAGE + name + "Data");
        } catch (ClassNotFoundException error) {
            return Class.forName(PACKAGE + name); // what is no request, response or header has no suffix
        }
    }

    private static String fresh(String[] words) throws Exception {
        return encode((Message) type(words[1]).getConstructor().newInstance(), Short.parseShort(words[2]));
    }

    private static String encode(Message message, short version) {
        ObjectSerializationCache cache = new ObjectSerializationCache();
        ByteBuffer output = ByteBuffer.allocate(message.size(cache, version));
        message.write(new ByteBufferAccessor(output), cache, version);
        return HexFormat.of().formatHex(output.array(), 0, output.position());
    }

    private static String message(String[] words) throws Exception {
        short version = Short.parseShort(words[1]);
        ByteBuffer input = ByteBuffer.wrap(HexFormat.of().parseHex(words[2]));
        Class<?> type = type(words[0]);
        Message message;
        try {
            message = (Message) type.getConstructor(Readable.class, short.class)
                .newInstance(new ByteBufferAccessor(input), version);
        } catch (InvocationTargetException error) {
            return "ERROR " + error.getCause();
        }
        if (input.hasRemaining()) {
            return "ERROR " + input.remaining() + " bytes left";
        }
        Class<?> converter = Class.forName(type.getName() + "JsonConverter");
        JsonNode json = (JsonNode) converter.getMethod("write", type, short.class, boolean.class)
            .invoke(null, message, version, false);
        return encode(message, version) + " " + json;
    }
}
