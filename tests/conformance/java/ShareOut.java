import java.io.BufferedReader;
import java.io.InputStreamReader;
import java.io.PrintStream;
import java.nio.ByteBuffer;
import java.nio.charset.StandardCharsets;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.HexFormat;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.Set;
import java.util.StringJoiner;
import org.apache.kafka.clients.consumer.ConsumerGroupMetadata;
import org.apache.kafka.clients.consumer.ConsumerPartitionAssignor.Assignment;
import org.apache.kafka.clients.consumer.ConsumerPartitionAssignor.Subscription;
import org.apache.kafka.clients.consumer.CooperativeStickyAssignor;
import org.apache.kafka.clients.consumer.RangeAssignor;
import org.apache.kafka.clients.consumer.RoundRobinAssignor;
import org.apache.kafka.clients.consumer.StickyAssignor;
import org.apache.kafka.clients.consumer.internals.AbstractPartitionAssignor;
import org.apache.kafka.clients.consumer.internals.ConsumerProtocol;
import org.apache.kafka.common.TopicPartition;

/**
 * Answers each line with one line. `assign assignor topic:count,... member...` is answered by `id=topic:partition,...`
 * words, where a member is `id/instance/generation/topics/owned/user data in hex`. `userdata assignor generation owned`
 * is answered by what a member with that assignment sends along, in hex; `subscription hex` and `assignment hex` by
 * the same message read and written again.
 */
public class ShareOut {
    public static void main(String[] args) throws Exception {
        BufferedReader in = new BufferedReader(new InputStreamReader(System.in, StandardCharsets.UTF_8));
        PrintStream out = new PrintStream(System.out, false, StandardCharsets.UTF_8);
        for (String line = in.readLine(); line != null; line = in.readLine()) {
            String[] words = line.split(" ", -1);
            out.println(switch (words[0]) {
                case "assign" -> assign(words);
                case "userdata" -> userData(words);
                case "subscription" -> hex(ConsumerProtocol.serializeSubscription(
                    ConsumerProtocol.deserializeSubscription(bytes(words[1]))));
                case "assignment" -> hex(ConsumerProtocol.serializeAssignment(
                    ConsumerProtocol.deserializeAssignment(bytes(words[1]))));
                default -> throw new IllegalArgumentException(line);
            });
        }
        out.flush();
    }

    private static AbstractPartitionAssignor assignor(String name) {
        return switch (name) {
            case "range" -> new RangeAssignor();
            case "roundrobin" -> new RoundRobinAssignor();
            case "sticky" -> new StickyAssignor();
            case "cooperative-sticky" -> new CooperativeStickyAssignor();
            default -> throw new IllegalArgumentException(name);
        };
    }

    private static String assign(String[] words) {
        Map<String, Integer> counts = new HashMap<>();
        for (String topic : list(words[2])) {
            counts.put(topic.split(":")[0], Integer.valueOf(topic.split(":")[1]));
        }
        Map<String, Subscription> members = new HashMap<>();
        for (int at = 3; at < words.length; at++) {
            String[] parts = words[at].split("/", -1);
            Subscription subscription = new Subscription(list(parts[3]), parts[5].isEmpty() ? null : bytes(parts[5]),
                partitions(parts[4]), Integer.parseInt(parts[2]), Optional.empty());
            subscription.setGroupInstanceId(parts[1].isEmpty() ? Optional.empty() : Optional.of(parts[1]));
            members.put(parts[0], subscription);
        }
        StringJoiner answer = new StringJoiner(" ");
        assignor(words[1]).assign(counts, members).forEach((id, share) -> {
            StringJoiner texts = new StringJoiner(",");
            share.forEach(tp -> texts.add(tp.topic() + ":" + tp.partition()));
            answer.add(id + "=" + texts);
        });
        return answer.toString();
    }

    @SuppressWarnings({"deprecation", "removal"}) // a metadata object of one's own, which the assignor does take
    private static String userData(String[] words) {
        AbstractPartitionAssignor assignor = assignor(words[1]);
        assignor.onAssignment(new Assignment(partitions(words[3])),
            new ConsumerGroupMetadata("g", Integer.parseInt(words[2]), "m", Optional.empty()));
        return hex(assignor.subscriptionUserData(Set.of()));
    }

    private static List<String> list(String text) {
        return text.isEmpty() ? List.of() : List.of(text.split(","));
    }

    private static List<TopicPartition> partitions(String text) {
        List<TopicPartition> found = new ArrayList<>();
        for (String word : list(text)) {
            found.add(new TopicPartition(word.split(":")[0], Integer.parseInt(word.split(":")[1])));
        }
        return found;
    }

    private static ByteBuffer bytes(String hex) {
        return ByteBuffer.wrap(HexFormat.of().parseHex(hex));
    }

    private static String hex(ByteBuffer buffer) {
        byte[] data = new byte[buffer.remaining()];
        buffer.get(data);
        return HexFormat.of().formatHex(data);
    }
}
