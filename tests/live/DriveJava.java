// Drives one of the two clients in Java's own library. The first argument names the client.
//
// Reads requests and writes responses as lines of base64 words, the protocol of tests.live.test_clients. Java's own
// library has no JSON. A request is a method, an address, a body or "-", and alternately the names and values of the
// header fields. A response is a status and a body. A single word is an exception of the client.

import java.io.BufferedReader;
import java.io.IOException;
import java.io.InputStream;
import java.io.InputStreamReader;
import java.net.HttpURLConnection;
import java.net.URI;
import java.net.http.HttpClient;
import java.net.http.HttpRequest;
import java.net.http.HttpResponse;
import java.nio.charset.StandardCharsets;
import java.time.Duration;
import java.util.Arrays;
import java.util.Base64;

class DriveJava {
  interface Sender {
    Response send(String method, URI address, byte[] body, String[] fields) throws IOException, InterruptedException;
  }

  static class Response { // no record, because Java 11 must compile it
    final int status;
    final byte[] body;

    Response(int status, byte[] body) {
      this.status = status;
      this.body = body;
    }
  }

  static final Duration TIMEOUT = Duration.ofSeconds(20);

  // With its defaults, the client asks for an upgrade to HTTP/2 on each new connection.
  static final HttpClient CLIENT = HttpClient.newHttpClient();

  static Response byHttpClient(String method, URI address, byte[] body, String[] fields)
      throws IOException, InterruptedException {
    var publisher = body == null ? HttpRequest.BodyPublishers.noBody() : HttpRequest.BodyPublishers.ofByteArray(body);
    var request = HttpRequest.newBuilder(address).timeout(TIMEOUT).method(method, publisher);
    if (fields.length > 0) {
      request.headers(fields);
    }
    var response = CLIENT.send(request.build(), HttpResponse.BodyHandlers.ofByteArray());
    return new Response(response.statusCode(), response.body());
  }

  static Response byHttpUrlConnection(String method, URI address, byte[] body, String[] fields) throws IOException {
    var connection = (HttpURLConnection) address.toURL().openConnection();
    connection.setRequestMethod(method);
    connection.setReadTimeout((int) TIMEOUT.toMillis());
    for (int at = 0; at < fields.length; at += 2) {
      connection.setRequestProperty(fields[at], fields[at + 1]);
    }
    if (body != null) {
      connection.setDoOutput(true);
      connection.getOutputStream().write(body);
    }
    int status = connection.getResponseCode();
    try (InputStream in = status < 400 ? connection.getInputStream() : connection.getErrorStream()) {
      return new Response(status, in.readAllBytes());
    }
  }

  static byte[] decoded(String word) {
    return word.equals("-") ? null : Base64.getDecoder().decode(word);
  }

  static String encoded(byte[] bytes) {
    return Base64.getEncoder().encodeToString(bytes);
  }

  public static void main(String[] arguments) throws Exception {
    Sender sender = arguments[0].equals("HttpClient") ? DriveJava::byHttpClient : DriveJava::byHttpUrlConnection;
    var lines = new BufferedReader(new InputStreamReader(System.in, StandardCharsets.US_ASCII));
    for (String line = lines.readLine(); line != null; line = lines.readLine()) {
      String[] words = line.split(" ");
      String[] texts = new String[words.length];
      for (int at = 0; at < words.length; at++) {
        texts[at] = at == 2 ? "" : new String(decoded(words[at]), StandardCharsets.UTF_8);
      }
      String[] fields = Arrays.copyOfRange(texts, 3, texts.length);
      try {
        Response response = sender.send(texts[0], URI.create(texts[1]), decoded(words[2]), fields);
        System.out.println(response.status + " " + encoded(response.body));
      } catch (IOException | InterruptedException thrown) {
        System.out.println(encoded(thrown.toString().getBytes(StandardCharsets.UTF_8)));
      }
    }
    System.exit(0); // the threads of HttpClient still run
  }
}
