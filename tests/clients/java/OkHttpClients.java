import java.io.IOException;
import java.net.http.HttpRequest;
import java.nio.charset.StandardCharsets;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.CompletionException;
import java.util.concurrent.TimeUnit;
import okhttp3.ConnectionPool;
import okhttp3.MediaType;
import okhttp3.OkHttpClient;
import okhttp3.Request;
import okhttp3.RequestBody;
import okhttp3.Response;

/** Clients on OkHttp. Clients makes the one whose name is its argument. */
public final class OkHttpClients {
  private static final MediaType JSON = MediaType.get("application/json");

  // Correct clients

  /** Never lets OkHttp follow a redirection or send a create again. A read may be sent again on a new connection. */
  public static class OkHttpPets extends ShopClient {
    protected final OkHttpClient reads;
    protected final OkHttpClient creates;
    private byte[] given;

    public OkHttpPets(String url, String apiKey, double seconds) {
      super(url, apiKey, seconds);
      reads =
          new OkHttpClient.Builder()
              .callTimeout(timeout.toMillis(), TimeUnit.MILLISECONDS)
              .followRedirects(false)
              .build();
      // A create on a connection that the service has closed would fail. OkHttp sends a request again after a 503 with
      // "Retry-After: 0", whatever retryOnConnectionFailure says.
      creates =
          reads
              .newBuilder()
              .retryOnConnectionFailure(false)
              .connectionPool(new ConnectionPool(0, 1, TimeUnit.SECONDS))
              .addNetworkInterceptor(asked -> asked.proceed(asked.request()).newBuilder().removeHeader("Retry-After").build())
              .build();
    }

    @Override
    public CompletableFuture<Object> create(String name, Long categoryId, String status) {
      given = body(name, categoryId, status).getBytes(StandardCharsets.UTF_8);
      return super.create(name, categoryId, status);
    }

    @Override
    protected CompletableFuture<Object> send(HttpRequest.Builder building, int success) {
      HttpRequest request = building.build();
      Request.Builder asked = new Request.Builder().url(request.uri().toString()).header("Authorization", "Bearer " + apiKey);
      if (request.method().equals("POST")) {
        // A media type beside bytes stays as it is: OkHttp adds a charset to that of a text.
        asked.post(RequestBody.create(JSON, given));
      }
      try {
        return CompletableFuture.completedFuture(received(clientFor(request.method()).newCall(asked.build()).execute(), success));
      } catch (IOException error) {
        throw new CompletionException(error);
      }
    }

    protected OkHttpClient clientFor(String method) {
      return method.equals("POST") ? creates : reads;
    }

    protected Object received(Response response, int success) throws IOException {
      try (response) {
        if (response.code() != success) {
          throw refused(response.code());
        }
        return PetstoreAdapter.parse(response.body().string());
      }
    }

    @Override
    public void close() {
      reads.dispatcher().executorService().shutdown();
      reads.connectionPool().evictAll();
      creates.connectionPool().evictAll();
    }
  }

  // Clients with reported bugs

  /** Sends a create again after a lost connection, as OkHttp does by default (square/okhttp#2394). */
  public static class OkHttpRetries extends OkHttpPets {
    public OkHttpRetries(String url, String apiKey, double seconds) {
      super(url, apiKey, seconds);
    }

    @Override
    protected OkHttpClient clientFor(String method) {
      return reads;
    }
  }

  /** Sends a create again after a 503 with "Retry-After: 0", as OkHttp does by itself. The machine found it. */
  public static class OkHttpAsksAgain extends OkHttpPets {
    private final OkHttpClient plain;

    public OkHttpAsksAgain(String url, String apiKey, double seconds) {
      super(url, apiKey, seconds);
      OkHttpClient.Builder building = creates.newBuilder();
      building.networkInterceptors().clear();
      plain = building.build();
    }

    @Override
    protected OkHttpClient clientFor(String method) {
      return method.equals("POST") ? plain : reads;
    }
  }
}
