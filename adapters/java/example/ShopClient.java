import java.io.IOException;
import java.net.URI;
import java.net.URLEncoder;
import java.net.http.HttpClient;
import java.net.http.HttpRequest;
import java.net.http.HttpResponse;
import java.nio.charset.StandardCharsets;
import java.time.Duration;
import java.util.LinkedHashMap;
import java.util.Map;
import java.util.concurrent.CompletableFuture;

/** An asynchronous client on java.net.http, with its own error class for a status. */
public class ShopClient {
  /** The service returned another status than a success. */
  public static class StatusException extends RuntimeException {
    public final int status;

    StatusException(int status) {
      super("the service returned " + status);
      this.status = status;
    }
  }

  // All clients share its connections: before Java 21, nothing closes those of an HttpClient.
  private static final HttpClient SHARED =
      HttpClient.newBuilder().version(HttpClient.Version.HTTP_1_1).connectTimeout(Duration.ofSeconds(5)).build();

  protected final HttpClient http;
  protected final String url;
  protected final String apiKey;
  protected final Duration timeout;

  public ShopClient(String url, String apiKey, double seconds) {
    this.url = url;
    this.apiKey = apiKey;
    this.timeout = Duration.ofMillis(Math.round(seconds * 1000));
    this.http = SHARED;
  }

  public CompletableFuture<Object> list(Long limit, String status) {
    StringBuilder query = new StringBuilder();
    if (limit != null) {
      query.append("?limit=").append(limit);
    }
    if (status != null) {
      query.append(query.isEmpty() ? '?' : '&').append("status=");
      query.append(URLEncoder.encode(status, StandardCharsets.UTF_8));
    }
    return send(request("/pets" + query).GET(), 200);
  }

  public CompletableFuture<Object> create(String name, Long categoryId, String status) {
    HttpRequest.BodyPublisher body = HttpRequest.BodyPublishers.ofString(body(name, categoryId, status));
    return send(request("/pets").header("Content-Type", "application/json").POST(body), 201);
  }

  protected String body(String name, Long categoryId, String status) {
    Map<String, Object> pet = new LinkedHashMap<>();
    pet.put("name", name);
    pet.put("categoryId", categoryId);
    pet.put("status", status);
    return PetstoreAdapter.format(pet);
  }

  public CompletableFuture<Object> get(long petId) {
    return send(request("/pets/" + petId).GET(), 200);
  }

  protected HttpRequest.Builder request(String path) {
    return HttpRequest.newBuilder(URI.create(url + path)).header("Authorization", "Bearer " + apiKey).timeout(timeout);
  }

  protected CompletableFuture<Object> send(HttpRequest.Builder request, int success) {
    // The timeout of a request covers the head of the response only.
    return http.sendAsync(request.build(), HttpResponse.BodyHandlers.ofString())
        .orTimeout(timeout.toMillis(), java.util.concurrent.TimeUnit.MILLISECONDS)
        .thenApply(response -> read(response, success));
  }

  protected Object read(HttpResponse<String> response, int success) {
    if (response.statusCode() != success) {
      throw refused(response.statusCode());
    }
    return PetstoreAdapter.parse(response.body());
  }

  protected StatusException refused(int status) {
    return new StatusException(status);
  }

  public void close() throws IOException {}
}
