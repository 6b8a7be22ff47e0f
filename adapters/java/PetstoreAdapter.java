import java.io.BufferedReader;
import java.io.IOException;
import java.io.InputStreamReader;
import java.io.InterruptedIOException;
import java.io.PrintStream;
import java.lang.reflect.RecordComponent;
import java.math.BigDecimal;
import java.math.BigInteger;
import java.net.SocketTimeoutException;
import java.nio.channels.ClosedByInterruptException;
import java.nio.charset.StandardCharsets;
import java.util.ArrayList;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.concurrent.CancellationException;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.CompletionException;
import java.util.concurrent.CompletionStage;
import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.ExecutionException;
import java.util.concurrent.ExecutorService;
import java.util.concurrent.Executors;
import java.util.concurrent.TimeoutException;

/**
 * The kit for clients in Java: copy this file into your project. It needs Java 17 or newer, and no library.
 *
 * <p>Name a function for each operation that your client has. A function may return a value, or a CompletionStage of one.
 * Values are maps, lists, records, text, numbers and booleans; a member that is null is left out.
 */
public final class PetstoreAdapter<C> {
  /** What a client needs; the timeout is in seconds, and ca is the file of a certificate authority or null. */
  public record Settings(String url, String apiKey, double timeout, String ca) {}

  /** What an error means: kind is status, transport, timeout, protocol, argument, cancelled or other. */
  public record Failure(String kind, Integer status) {
    public static Failure status(int status) {
      return new Failure("status", status);
    }

    public static Failure of(String kind) {
      return new Failure(kind, null);
    }
  }

  /** The arguments of a call, by the names of the interface; a missing one is null. */
  public record Arguments(Map<String, Object> values) {
    public String text(String name) {
      return (String) values.get(name);
    }

    public Long integer(String name) {
      return (Long) values.get(name);
    }
  }

  public interface Opening<C> {
    C open(Settings settings) throws Exception;
  }

  public interface Operation<C> {
    Object call(C client, Arguments arguments) throws Exception;
  }

  public interface Closing<C> {
    void close(C client) throws Exception;
  }

  public interface Reading {
    /** Returns what an error means, or null for the meaning that the kit finds. */
    Failure read(Throwable error);
  }

  private final Opening<C> opening;
  private final Map<String, Operation<C>> operations = new LinkedHashMap<>();
  private final Map<String, C> clients = new ConcurrentHashMap<>();
  private final Map<Object, Call> running = new ConcurrentHashMap<>();
  private Closing<C> closing = client -> {};
  private Reading reading = error -> null;
  private boolean cancels;
  private PrintStream replies;

  public PetstoreAdapter(Opening<C> opening) {
    this.opening = opening;
  }

  public PetstoreAdapter<C> operation(String name, Operation<C> operation) {
    operations.put(name, operation);
    return this;
  }

  public PetstoreAdapter<C> close(Closing<C> closing) {
    this.closing = closing;
    return this;
  }

  public PetstoreAdapter<C> error(Reading reading) {
    this.reading = reading;
    return this;
  }

  /**
   * Lets the check cancel calls: it interrupts the thread that makes the call, and cancels the CompletionStage that the
   * function returned. The call then throws an InterruptedException or one of its kind, or it throws another exception
   * and leaves the thread interrupted.
   */
  public PetstoreAdapter<C> cancels() {
    cancels = true;
    return this;
  }

  /** Replies to requests until standard input ends. Then the program ends, unless a client keeps it alive. */
  public void serve() throws IOException {
    replies = System.out;
    // What a library prints must not stand between the replies.
    System.setOut(System.err);
    ExecutorService threads =
        Executors.newCachedThreadPool(
            work -> {
              Thread thread = new Thread(work, "petstore-adapter");
              thread.setDaemon(true);
              return thread;
            });
    BufferedReader lines = new BufferedReader(new InputStreamReader(System.in, StandardCharsets.UTF_8));
    for (String line = lines.readLine(); line != null; line = lines.readLine()) {
      Map<String, Object> request = object(new Json(line).read());
      Call call = new Call();
      if ("call".equals(request.get("do"))) {
        running.put(request.get("id"), call);
      }
      threads.execute(() -> take(request, call));
    }
  }

  /** A call that the check may cancel, before it begins too. Its thread serves other requests when it is over. */
  private static final class Call {
    private Thread thread;
    private volatile boolean isCancelled;

    synchronized void begin() throws InterruptedException {
      if (isCancelled) {
        throw new InterruptedException("cancelled before it began");
      }
      thread = Thread.currentThread();
    }

    synchronized void cancel() {
      isCancelled = true;
      if (thread != null) {
        thread.interrupt();
      }
    }

    synchronized void end() {
      thread = null;
      Thread.interrupted();
    }
  }

  private void take(Map<String, Object> request, Call call) {
    Map<String, Object> reply = new LinkedHashMap<>();
    if (request.containsKey("hello")) {
      reply.put("hello", 1);
      reply.put("operations", List.copyOf(operations.keySet()));
      reply.put("concurrent", true);
      reply.put("cancel", cancels);
      reply.put("name", "Java " + System.getProperty("java.version"));
    } else {
      reply.put("id", request.get("id"));
      try {
        call.begin();
        reply.put("ok", waited(done(request)));
      } catch (Throwable error) {
        reply.put("error", told(error, call));
      } finally {
        call.end();
        running.remove(request.get("id"), call);
      }
    }
    StringBuilder text = new StringBuilder();
    write(reply, text);
    byte[] line = text.append('\n').toString().getBytes(StandardCharsets.UTF_8);
    synchronized (replies) {
      replies.write(line, 0, line.length);
      replies.flush();
    }
  }

  private Object done(Map<String, Object> request) throws Exception {
    String client = (String) request.get("client");
    switch ((String) request.get("do")) {
      case "open" -> {
        double timeout = ((Number) request.get("timeout")).doubleValue();
        String url = (String) request.get("url");
        clients.put(
            client,
            opening.open(new Settings(url, (String) request.get("api_key"), timeout, (String) request.get("ca"))));
        return null;
      }
      case "close" -> {
        closing.close(clients.remove(client));
        return null;
      }
      case "cancel" -> {
        Call call = running.get(request.get("call"));
        if (call != null) {
          call.cancel();
        }
        return null;
      }
      default -> {
        Arguments arguments = new Arguments(object(request.get("arguments")));
        return operations.get((String) request.get("operation")).call(clients.get(client), arguments);
      }
    }
  }

  private static Object waited(Object result) throws Exception {
    if (!(result instanceof CompletionStage<?> stage)) {
      return result;
    }
    CompletableFuture<?> later = stage.toCompletableFuture();
    try {
      return later.get();
    } catch (InterruptedException interrupted) {
      later.cancel(true);
      throw interrupted;
    }
  }

  private Map<String, Object> told(Throwable error, Call call) {
    Throwable own = error;
    while ((own instanceof CompletionException || own instanceof ExecutionException) && own.getCause() != null) {
      own = own.getCause();
    }
    boolean tellsInterrupt = isOfInterrupt(own) || Thread.currentThread().isInterrupted();
    Failure failure = call.isCancelled && tellsInterrupt ? Failure.of("cancelled") : reading.read(own);
    if (failure == null) {
      failure = Failure.of(kind(own));
    }
    Map<String, Object> told = new LinkedHashMap<>();
    told.put("kind", failure.kind());
    if (failure.status() != null) {
      told.put("status", failure.status());
    }
    told.put("message", String.valueOf(own.getMessage()));
    told.put("type", own.getClass().getSimpleName());
    return told;
  }

  private static boolean isOfInterrupt(Throwable error) {
    // A timeout of a socket is an InterruptedIOException too.
    boolean isOfRead = error instanceof InterruptedIOException && !(error instanceof SocketTimeoutException);
    return isOfRead
        || error instanceof InterruptedException
        || error instanceof CancellationException
        || error instanceof ClosedByInterruptException;
  }

  private static String kind(Throwable error) {
    for (Throwable link = error; link != null; link = link.getCause()) {
      String name = link.getClass().getSimpleName();
      if (link instanceof TimeoutException || name.contains("Timeout")) {
        return "timeout";
      }
      if (name.contains("Json") || name.contains("Parse")) {
        return "protocol";
      }
      if (link instanceof IOException) {
        return "transport";
      }
    }
    return "other";
  }

  // JSON. Integers are Long, or BigInteger if they are larger.

  /** Returns the value of a JSON text; throws JsonError for any other text. */
  public static Object parse(String text) {
    return new Json(text).read();
  }

  public static String format(Object value) {
    StringBuilder text = new StringBuilder();
    write(value, text);
    return text.toString();
  }

  @SuppressWarnings("unchecked")
  private static Map<String, Object> object(Object value) {
    return (Map<String, Object>) value;
  }

  private static void write(Object value, StringBuilder text) {
    if (value instanceof Optional<?> optional) {
      write(optional.orElse(null), text);
    } else if (value instanceof Map<?, ?> map) {
      writeMembers(map, text);
    } else if (value instanceof Iterable<?> items) {
      String before = "[";
      for (Object item : items) {
        text.append(before);
        write(item, text);
        before = ",";
      }
      text.append(before.equals("[") ? "[]" : "]");
    } else if (value instanceof Record record) {
      writeMembers(members(record), text);
    } else if (value instanceof CharSequence || value instanceof Enum<?>) {
      writeText(value.toString(), text);
    } else {
      text.append(value);
    }
  }

  private static void writeMembers(Map<?, ?> map, StringBuilder text) {
    String before = "{";
    for (Map.Entry<?, ?> member : map.entrySet()) {
      boolean isResult = "ok".equals(member.getKey());
      if (member.getValue() == null && !isResult) {
        continue;
      }
      text.append(before);
      writeText(String.valueOf(member.getKey()), text);
      text.append(':');
      write(member.getValue(), text);
      before = ",";
    }
    text.append(before.equals("{") ? "{}" : "}");
  }

  private static Map<String, Object> members(Record record) {
    Map<String, Object> members = new LinkedHashMap<>();
    try {
      for (RecordComponent component : record.getClass().getRecordComponents()) {
        component.getAccessor().setAccessible(true);
        members.put(component.getName(), component.getAccessor().invoke(record));
      }
    } catch (ReflectiveOperationException error) {
      throw new IllegalStateException(error);
    }
    return members;
  }

  private static void writeText(String value, StringBuilder text) {
    text.append('"');
    for (char letter : value.toCharArray()) {
      boolean isPlain = letter >= ' ' && letter < 127 && letter != '"' && letter != '\\';
      text.append(isPlain ? String.valueOf(letter) : String.format("\\u%04x", (int) letter));
    }
    text.append('"');
  }

  /** A text that is no JSON. */
  public static final class JsonError extends RuntimeException {
    JsonError(String message) {
      super(message);
    }
  }

  private static final class Json {
    private final String text;
    private int at;

    Json(String text) {
      this.text = text;
    }

    Object read() {
      Object value = value();
      if (peek() != 0) {
        throw wrong();
      }
      return value;
    }

    private char peek() {
      while (at < text.length() && " \t\r\n".indexOf(text.charAt(at)) >= 0) {
        at++;
      }
      return at < text.length() ? text.charAt(at) : 0;
    }

    private boolean takes(char letter) {
      boolean isNext = peek() == letter;
      at += isNext ? 1 : 0;
      return isNext;
    }

    private void expect(char letter) {
      if (!takes(letter)) {
        throw wrong();
      }
    }

    private JsonError wrong() {
      return new JsonError("no JSON at character " + at);
    }

    private Object value() {
      return switch (peek()) {
        case '{' -> members();
        case '[' -> items();
        case '"' -> string();
        case 't' -> word("true", true);
        case 'f' -> word("false", false);
        case 'n' -> word("null", null);
        default -> number();
      };
    }

    private Map<String, Object> members() {
      Map<String, Object> members = new LinkedHashMap<>();
      expect('{');
      for (boolean more = !takes('}'); more; more = !takes('}')) {
        if (!members.isEmpty()) {
          expect(',');
        }
        if (peek() != '"') {
          throw wrong();
        }
        String name = string();
        expect(':');
        members.put(name, value());
      }
      return members;
    }

    private List<Object> items() {
      List<Object> items = new ArrayList<>();
      expect('[');
      for (boolean more = !takes(']'); more; more = !takes(']')) {
        if (!items.isEmpty()) {
          expect(',');
        }
        items.add(value());
      }
      return items;
    }

    private Object word(String word, Object value) {
      if (!text.startsWith(word, at)) {
        throw wrong();
      }
      at += word.length();
      return value;
    }

    private Object number() {
      int start = at;
      while (at < text.length() && "+-.eE0123456789".indexOf(text.charAt(at)) >= 0) {
        at++;
      }
      String digits = text.substring(start, at);
      if (!digits.matches("-?(0|[1-9]\\d*)(\\.\\d+)?([eE][+-]?\\d+)?")) {
        throw wrong();
      }
      if (digits.matches("-?\\d+")) {
        BigInteger integer = new BigInteger(digits);
        return integer.bitLength() < 64 ? (Object) integer.longValue() : integer;
      }
      return new BigDecimal(digits);
    }

    private String string() {
      StringBuilder read = new StringBuilder();
      for (at++; at < text.length() && text.charAt(at) != '"'; at++) {
        char letter = text.charAt(at);
        if (letter < ' ') {
          throw wrong();
        }
        read.append(letter == '\\' ? escaped() : letter);
      }
      if (at >= text.length()) {
        throw wrong();
      }
      at++;
      return read.toString();
    }

    private char escaped() {
      at++;
      char letter = at < text.length() ? text.charAt(at) : 0;
      if (letter == 'u' && at + 4 < text.length()) {
        at += 4;
        return (char) Integer.parseInt(text.substring(at - 3, at + 1), 16);
      }
      int place = "\"\\/bfnrt".indexOf(letter);
      if (place < 0) {
        throw wrong();
      }
      return "\"\\/\b\f\n\r\t".charAt(place);
    }
  }
}
