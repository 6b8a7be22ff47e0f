public class Adapter {
  public static void main(String[] arguments) throws Exception {
    new PetstoreAdapter<>(settings -> new ShopClient(settings.url(), settings.apiKey(), settings.timeout()))
        .operation("listPets", (client, given) -> client.list(given.integer("limit"), given.text("status")))
        .operation(
            "createPet",
            (client, given) -> client.create(given.text("name"), given.integer("categoryId"), given.text("status")))
        .operation("getPet", (client, given) -> client.get(given.integer("petId")))
        .close(ShopClient::close)
        .error(
            error ->
                error instanceof ShopClient.StatusException refused
                    ? PetstoreAdapter.Failure.status(refused.status)
                    : null)
        .cancels()
        .serve();
  }
}
