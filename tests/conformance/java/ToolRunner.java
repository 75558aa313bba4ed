import java.io.BufferedReader;
import java.io.ByteArrayOutputStream;
import java.io.InputStreamReader;
import java.io.PrintStream;
import java.lang.reflect.InvocationTargetException;
import java.util.Arrays;

import org.apache.kafka.common.utils.Exit;

/** Runs Kafka's command-line tools one after the other in one process: a line is a class and its arguments, with tabs. */
public class ToolRunner {
    private static final class Ended extends RuntimeException {
        private static final long serialVersionUID = 1L;
        final int code;

        Ended(int code) {
            this.code = code;
        }
    }

    public static void main(String[] unused) throws Exception {
        Exit.setExitProcedure((code, message) -> {
            throw new Ended(code);
        });
        PrintStream out = System.out;
        BufferedReader lines = new BufferedReader(new InputStreamReader(System.in));
        for (String line = lines.readLine(); line != null; line = lines.readLine()) {
            String[] words = line.split("\t");
            ByteArrayOutputStream caught = new ByteArrayOutputStream();
            System.setOut(new PrintStream(caught, true));
            System.setErr(System.out);
            int code = run(words[0], Arrays.copyOfRange(words, 1, words.length));
            System.out.flush();
            out.print(caught);
            out.println("\n==== " + code);
            out.flush();
        }
    }

    private static int run(String tool, String[] arguments) throws Exception {
        try {
            Class.forName(tool).getMethod("main", String[].class).invoke(null, (Object) arguments);
            return 0;
        } catch (InvocationTargetException thrown) {
            Throwable cause = thrown.getCause();
            if (cause instanceof Ended) {
                return ((Ended) cause).code;
            }
            cause.printStackTrace(System.out);
            return 1;
        }
    }
}
