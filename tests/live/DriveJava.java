// Drives the two clients of Java's own library; the first argument says which.
//
// Reads requests and writes answers as lines of base64 words, as tests.live.test_clients speaks them: Java's own
// library has no JSON. A request is a method, an address, a body or "-", and the names and values of the header fields
// in turn; an answer is a status and a body; a single word is what the client threw instead.

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
    Answer send(String method, URI address, byte[] body, String[] fields) throws IOException, InterruptedException;
  }

  static class Answer { // no record: Java 11 is to do
    final int status;
    final byte[] body;

    Answer(int status, byte[] body) {
      this.status = status;
      this.body = body;
    }
  }

  static final Duration TIMEOUT = Duration.ofSeconds(20);

  // As it comes: with each new connection it asks for HTTP/2 by an upgrade.
  static final HttpClient CLIENT = HttpClient.newHttpClient();

  static Answer byHttpClient(String method, URI address, byte[] body, String[] fields)
      throws IOException, InterruptedException {
    var publisher = body == null ? HttpRequest.BodyPublishers.noBody() : HttpRequest.BodyPublishers.ofByteArray(body);
    var request = HttpRequest.newBuilder(address).timeout(TIMEOUT).method(method, publisher);
    if (fields.length > 0) {
      request.headers(fields);
    }
    var answer = CLIENT.send(request.build(), HttpResponse.BodyHandlers.ofByteArray());
    return new Answer(answer.statusCode(), answer.body());
  }

  static Answer byHttpUrlConnection(String method, URI address, byte[] body, String[] fields) throws IOException {
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
      return new Answer(status, in.readAllBytes());
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
        Answer answer = sender.send(texts[0], URI.create(texts[1]), decoded(words[2]), fields);
        System.out.println(answer.status + " " + encoded(answer.body));
      } catch (IOException | InterruptedException thrown) {
        System.out.println(encoded(thrown.toString().getBytes(StandardCharsets.UTF_8)));
      }
    }
    System.exit(0); // HttpClient has threads of its own
  }
}
