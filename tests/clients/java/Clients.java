import java.io.IOException;
import java.io.InputStream;
import java.net.HttpURLConnection;
import java.net.URI;
import java.net.http.HttpClient;
import java.net.http.HttpRequest;
import java.net.http.HttpResponse;
import java.nio.charset.StandardCharsets;
import java.time.Duration;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.CompletionException;
import java.util.concurrent.ExecutionException;
import java.util.concurrent.Executors;
import java.util.concurrent.ScheduledExecutorService;
import java.util.concurrent.Semaphore;
import java.util.concurrent.TimeUnit;

/** Clients in Java: the adapter makes the one whose name is its argument. ShopClient is the example of the kit. */
public final class Clients {
  public static void main(String[] arguments) throws Exception {
    String holder = arguments[0].startsWith("OkHttp") ? "OkHttpClients" : "Clients";
    Class<?> client = Class.forName(holder + "$" + arguments[0]);
    new PetstoreAdapter<>(
            settings ->
                (ShopClient)
                    client
                        .getConstructor(String.class, String.class, double.class)
                        .newInstance(settings.url(), settings.apiKey(), settings.timeout()))
        .operation("listPets", (made, given) -> made.list(given.integer("limit"), given.text("status")))
        .operation(
            "createPet",
            (made, given) -> made.create(given.text("name"), given.integer("categoryId"), given.text("status")))
        .operation("getPet", (made, given) -> made.get(given.integer("petId")))
        .close(ShopClient::close)
        .error(
            error ->
                error instanceof ShopClient.StatusException refused
                    ? PetstoreAdapter.Failure.status(refused.status)
                    : null)
        .cancels()
        .serve();
  }

  // Correct clients

  public static class Asynchronous extends ShopClient {
    public Asynchronous(String url, String apiKey, double seconds) {
      super(url, apiKey, seconds);
    }
  }

  /** Waits for its responses. */
  public static class Blocking extends Asynchronous {
    public Blocking(String url, String apiKey, double seconds) {
      super(url, apiKey, seconds);
    }

    @Override
    protected CompletableFuture<Object> send(HttpRequest.Builder request, int success) {
      return CompletableFuture.completedFuture(super.send(request, success).join());
    }
  }

  /** Uses a connection of HttpURLConnection for each request, and never lets it send again. */
  public static class UrlConnection extends Asynchronous {
    static {
      System.setProperty("sun.net.http.retryPost", "false");
    }

    public UrlConnection(String url, String apiKey, double seconds) {
      super(url, apiKey, seconds);
    }

    @Override
    protected CompletableFuture<Object> send(HttpRequest.Builder building, int success) {
      HttpRequest request = building.build();
      HttpURLConnection connection = null;
      try {
        connection = (HttpURLConnection) request.uri().toURL().openConnection();
        connection.setInstanceFollowRedirects(false);
        connection.setConnectTimeout((int) timeout.toMillis());
        connection.setReadTimeout((int) timeout.toMillis());
        connection.setRequestMethod(request.method());
        for (Map.Entry<String, List<String>> field : request.headers().map().entrySet()) {
          connection.setRequestProperty(field.getKey(), field.getValue().get(0));
        }
        connection.setRequestProperty("Connection", "close");
        if (given != null && request.method().equals("POST")) {
          connection.setDoOutput(true);
          connection.getOutputStream().write(given.getBytes(StandardCharsets.UTF_8));
        }
        if (connection.getResponseCode() != success) {
          throw refused(connection.getResponseCode());
        }
        try (InputStream body = connection.getInputStream()) {
          return CompletableFuture.completedFuture(PetstoreAdapter.parse(new String(body.readAllBytes(), StandardCharsets.UTF_8)));
        }
      } catch (IOException error) {
        throw new CompletionException(error);
      } finally {
        if (connection != null) {
          connection.disconnect();
        }
      }
    }

    private String given;

    @Override
    public CompletableFuture<Object> create(String name, Long categoryId, String status) {
      given = body(name, categoryId, status);
      return super.create(name, categoryId, status);
    }
  }

  /** Sends at most eight requests at once. An interrupted call gives its permit back, and leaves the thread interrupted. */
  public static class Interruptible extends Asynchronous {
    protected final Semaphore permits = new Semaphore(8);

    public Interruptible(String url, String apiKey, double seconds) {
      super(url, apiKey, seconds);
    }

    @Override
    protected CompletableFuture<Object> send(HttpRequest.Builder request, int success) {
      try {
        permits.acquire();
        try {
          return CompletableFuture.completedFuture(super.send(request, success).get());
        } finally {
          permits.release();
        }
      } catch (InterruptedException interrupted) {
        Thread.currentThread().interrupt();
        throw new CompletionException(new IOException("interrupted", interrupted));
      } catch (ExecutionException failed) {
        throw new CompletionException(failed.getCause());
      }
    }
  }

  // Clients with reported bugs

  /** Does not give a permit back if the thread is interrupted (apache/ratis#1241). */
  public static class PermitKept extends Interruptible {
    public PermitKept(String url, String apiKey, double seconds) {
      super(url, apiKey, seconds);
    }

    @Override
    protected CompletableFuture<Object> send(HttpRequest.Builder request, int success) {
      CompletableFuture<Object> later = http.sendAsync(request.build(), HttpResponse.BodyHandlers.ofString())
          .orTimeout(timeout.toMillis(), TimeUnit.MILLISECONDS)
          .thenApply(response -> read(response, success));
      try {
        permits.acquire();
        Object result = later.get();
        permits.release();
        return CompletableFuture.completedFuture(result);
      } catch (ExecutionException failed) {
        permits.release();
        throw new CompletionException(failed.getCause());
      } catch (InterruptedException interrupted) {
        Thread.currentThread().interrupt();
        throw new CompletionException(interrupted);
      }
    }
  }

  /** Wraps an interrupt, and does not leave the thread interrupted (langchain4j/langchain4j#6361). */
  public static class InterruptLost extends Interruptible {
    public InterruptLost(String url, String apiKey, double seconds) {
      super(url, apiKey, seconds);
    }

    @Override
    protected CompletableFuture<Object> send(HttpRequest.Builder request, int success) {
      try {
        return super.send(request, success);
      } catch (CompletionException failed) {
        if (Thread.interrupted()) {
          throw new RuntimeException("failed to send", failed.getCause());
        }
        throw failed;
      }
    }
  }

  /** Sends a create again if its response is lost, as the JDK does by itself (com-lihaoyi/requests-scala#6). */
  public static class PostRepeated extends UrlConnection {
    public PostRepeated(String url, String apiKey, double seconds) {
      super(url, apiKey, seconds);
    }

    @Override
    public CompletableFuture<Object> create(String name, Long categoryId, String status) {
      try {
        return super.create(name, categoryId, status);
      } catch (CompletionException lost) {
        return super.create(name, categoryId, status);
      }
    }
  }

  /** Has no timeout (zalando-stups/put-it-to-rest#45). */
  public static class NoTimeout extends Asynchronous {
    public NoTimeout(String url, String apiKey, double seconds) {
      super(url, apiKey, 3600);
    }
  }

  /** Shows the whole field Authorization in its exceptions (slackapi/java-slack-sdk#566). */
  public static class KeyInException extends Asynchronous {
    public KeyInException(String url, String apiKey, double seconds) {
      super(url, apiKey, seconds);
    }

    @Override
    protected StatusException refused(int status) {
      return new StatusException(status) {
        @Override
        public String getMessage() {
          return super.getMessage() + " for Authorization value: Bearer " + apiKey;
        }
      };
    }
  }

  /** Reads each number as a double (google/gson#1065). */
  public static class NumbersAreDoubles extends Asynchronous {
    public NumbersAreDoubles(String url, String apiKey, double seconds) {
      super(url, apiKey, seconds);
    }

    @Override
    protected Object read(HttpResponse<String> response, int success) {
      return rounded(super.read(response, success));
    }

    private static Object rounded(Object value) {
      if (value instanceof List<?> items) {
        return items.stream().map(NumbersAreDoubles::rounded).toList();
      }
      if (value instanceof Map<?, ?> members) {
        Map<Object, Object> all = new LinkedHashMap<>();
        members.forEach((name, member) -> all.put(name, rounded(member)));
        return all;
      }
      return value instanceof Long number ? (Object) (long) number.doubleValue() : value;
    }
  }

  /** Keeps an identifier as an int (danshannon/javastravav3api#180). */
  public static class IdsAreInts extends Asynchronous {
    public IdsAreInts(String url, String apiKey, double seconds) {
      super(url, apiKey, seconds);
    }

    @Override
    public CompletableFuture<Object> get(long petId) {
      return super.get((int) petId);
    }
  }

  /** Fails for a field that it does not know (evanwong/hipchat-java#30). */
  public static class UnknownFieldsRefused extends Asynchronous {
    public UnknownFieldsRefused(String url, String apiKey, double seconds) {
      super(url, apiKey, seconds);
    }

    @Override
    protected Object read(HttpResponse<String> response, int success) {
      Object value = super.read(response, success);
      for (Object item : value instanceof List<?> items ? items : List.of(value)) {
        if (item instanceof Map<?, ?> pet && !List.of("id", "name", "categoryId", "status").containsAll(pet.keySet())) {
          throw new IllegalArgumentException("Unrecognized field, not marked as ignorable: " + pet.keySet());
        }
      }
      return value;
    }
  }

  /** Decodes responses with a charset of its own (rickfast/consul-client#257). */
  public static class CharsetOfPlatform extends Asynchronous {
    public CharsetOfPlatform(String url, String apiKey, double seconds) {
      super(url, apiKey, seconds);
    }

    @Override
    protected CompletableFuture<Object> send(HttpRequest.Builder request, int success) {
      return http.sendAsync(request.build(), HttpResponse.BodyHandlers.ofString(StandardCharsets.ISO_8859_1))
          .orTimeout(timeout.toMillis(), TimeUnit.MILLISECONDS)
          .thenApply(response -> read(response, success));
    }
  }

  /** Follows the redirection of a create with a GET (AsyncHttpClient/async-http-client#1042). */
  public static class PostFollowed extends Asynchronous {
    private final URI own;

    public PostFollowed(String url, String apiKey, double seconds) {
      super(url, apiKey, seconds);
      own = URI.create(url + "/");
    }

    @Override
    protected CompletableFuture<Object> send(HttpRequest.Builder request, int success) {
      return http.sendAsync(request.build(), HttpResponse.BodyHandlers.ofString())
          .thenCompose(response -> followed(request, response))
          .orTimeout(timeout.toMillis(), TimeUnit.MILLISECONDS)
          .thenApply(response -> read(response, response.statusCode() == 200 ? 200 : success));
    }

    private CompletableFuture<HttpResponse<String>> followed(HttpRequest.Builder request, HttpResponse<String> response) {
      URI target = response.headers().firstValue("Location").map(own::resolve).orElse(null);
      boolean isCreate = response.request().method().equals("POST") && response.statusCode() / 100 == 3;
      // The key stays with its own service.
      if (!isCreate || target == null || !own.getRawAuthority().equals(target.getRawAuthority())) {
        return CompletableFuture.completedFuture(response);
      }
      return http.sendAsync(request.copy().uri(target).GET().build(), HttpResponse.BodyHandlers.ofString());
    }
  }

  /** Leaves a thread that is no daemon (centrifugal/centrifuge-java#13). */
  public static class ThreadKept extends Asynchronous {
    private final ScheduledExecutorService scheduler = Executors.newSingleThreadScheduledExecutor();

    public ThreadKept(String url, String apiKey, double seconds) {
      super(url, apiKey, seconds);
      scheduler.schedule(() -> {}, 0, TimeUnit.SECONDS);
    }
  }

  /** Opens an HttpClient for each client, whose connections nothing closes (modelcontextprotocol/java-sdk#620). */
  public static class ConnectionsKept extends Asynchronous {
    private final HttpClient own = HttpClient.newBuilder().version(HttpClient.Version.HTTP_1_1).build();

    public ConnectionsKept(String url, String apiKey, double seconds) {
      super(url, apiKey, seconds);
    }

    @Override
    protected CompletableFuture<Object> send(HttpRequest.Builder request, int success) {
      return own.sendAsync(request.build(), HttpResponse.BodyHandlers.ofString())
          .orTimeout(timeout.toMillis(), TimeUnit.MILLISECONDS)
          .thenApply(response -> read(response, success));
    }
  }
}
