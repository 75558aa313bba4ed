package org.apache.kafka.clients.producer.internals;

import java.io.BufferedReader;
import java.io.InputStreamReader;
import java.io.PrintStream;
import java.nio.charset.StandardCharsets;
import java.util.ArrayList;
import java.util.HexFormat;
import java.util.List;
import java.util.Set;
import org.apache.kafka.common.Cluster;
import org.apache.kafka.common.Node;
import org.apache.kafka.common.PartitionInfo;
import org.apache.kafka.common.utils.LogContext;
import org.apache.kafka.common.utils.Utils;

/**
 * Answers each line with one line. `key partitions hex` is answered by the hash of the key and its partition; `draw
 * random partitions number:size ...` by the partition that is drawn with that random number for queues of those sizes,
 * where partitions that are not named are left out. It is in the package of what it asks, whose draw is not public.
 */
public final class PartitionChoice {
    private PartitionChoice() {}

    /** The partitioner with a given random number. */
    private static final class Drawn extends BuiltInPartitioner {
        private final int random;

        Drawn(int random) {
            super(new LogContext(), "t", 1);
            this.random = random;
        }

        @Override
        int randomPartition() {
            return random;
        }
    }

    public static void main(String[] arguments) throws Exception {
        PrintStream out = new PrintStream(System.out, false, StandardCharsets.UTF_8);
        BufferedReader in = new BufferedReader(new InputStreamReader(System.in, StandardCharsets.UTF_8));
        for (String line = in.readLine(); line != null; line = in.readLine()) {
            String[] words = line.split(" ", -1);
            out.println(words[0].equals("key") ? ofKey(words) : drawn(words));
        }
        out.flush();
    }

    private static String ofKey(String[] words) {
        byte[] key = HexFormat.of().parseHex(words[2]);
        int partition = BuiltInPartitioner.partitionForKey(key, Integer.parseInt(words[1]));
        return Integer.toUnsignedString(Utils.murmur2(key)) + " " + partition;
    }

    private static String drawn(String[] words) {
        int count = Integer.parseInt(words[2]);
        int[] sizes = new int[count];
        int[] numbers = new int[count];
        for (int at = 3; at < words.length; at++) {
            String[] parts = words[at].split(":");
            numbers[at - 3] = Integer.parseInt(parts[0]);
            sizes[at - 3] = Integer.parseInt(parts[1]);
        }
        Drawn partitioner = new Drawn(Integer.parseInt(words[1]));
        partitioner.updatePartitionLoadStats(sizes, numbers, words.length - 3);
        return Integer.toString(partitioner.peekCurrentPartitionInfo(cluster(count)).partition());
    }

    private static Cluster cluster(int count) {
        Node node = new Node(1, "localhost", 9092);
        List<PartitionInfo> partitions = new ArrayList<>();
        for (int number = 0; number < count; number++) {
            partitions.add(new PartitionInfo("t", number, node, new Node[] {node}, new Node[] {node}));
        }
        return new Cluster("c", List.of(node), partitions, Set.of(), Set.of());
    }
}
