import java.io.BufferedReader;
import java.io.FileInputStream;
import java.io.InputStreamReader;
import java.net.URI;
import java.net.http.HttpClient;
import java.net.http.HttpRequest;
import java.net.http.HttpResponse;
import java.security.KeyStore;
import java.security.cert.CertificateFactory;
import java.time.Duration;
import javax.net.ssl.SSLContext;
import javax.net.ssl.TrustManagerFactory;

/** Sends a request for each line "URL KEY SECONDS". Prints the status or the error. Trusts the given authority. */
public class DriveTls {
    public static void main(String[] arguments) throws Exception {
        KeyStore trusted = KeyStore.getInstance(KeyStore.getDefaultType());
        trusted.load(null, null);
        try (FileInputStream pem = new FileInputStream(arguments[0])) {
            trusted.setCertificateEntry("petstore", CertificateFactory.getInstance("X.509").generateCertificate(pem));
        }
        TrustManagerFactory trust = TrustManagerFactory.getInstance(TrustManagerFactory.getDefaultAlgorithm());
        trust.init(trusted);
        SSLContext context = SSLContext.getInstance("TLS");
        context.init(null, trust.getTrustManagers(), null);
        BufferedReader lines = new BufferedReader(new InputStreamReader(System.in));
        for (String line = lines.readLine(); line != null; line = lines.readLine()) {
            String[] words = line.split(" ");
            HttpClient client = HttpClient.newBuilder().sslContext(context).build();
            HttpRequest request = HttpRequest.newBuilder(URI.create(words[0]))
                .header("Authorization", "Bearer " + words[1])
                .timeout(Duration.ofMillis(Math.round(1000 * Double.parseDouble(words[2]))))
                .build();
            String result;
            try {
                result = "" + client.send(request, HttpResponse.BodyHandlers.ofString()).statusCode();
            } catch (Exception error) {
                result = error.getClass().getSimpleName();
            }
            System.out.println(result);
        }
    }
}
