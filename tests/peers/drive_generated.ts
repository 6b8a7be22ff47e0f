// Drives openapi-fetch with the types that openapi-typescript generated. The test puts this file beside schema.d.ts.
// Reads requests and writes responses as lines of JSON, the protocol of tests.live.clients.talk.

import { createInterface } from "node:readline";
import createClient from "openapi-fetch";
import type { components, paths } from "./schema.js";

type Request = { method: string; url: string; headers: Record<string, string>; value: unknown };
type Status = components["schemas"]["PetStatus"];

async function call({ method, url, headers, value }: Request): Promise<[number, unknown]> {
  const [base, rest] = url.split("/pets") as [string, string];
  const client = createClient<paths>({ baseUrl: base, headers });
  if (method === "POST") {
    const { data, error, response } = await client.POST("/pets", { body: value as components["schemas"]["NewPet"] });
    return [response.status, data ?? error];
  }
  if (rest.startsWith("/")) {
    const { data, error, response } = await client.GET("/pets/{petId}", {
      params: { path: { petId: Number(rest.slice(1)) } },
    });
    // @ts-expect-error: a Pet has no such field. The compiler complains here if the types let everything pass.
    void data?.nme;
    return [response.status, data ?? error];
  }
  const query = new URLSearchParams(rest);
  const { data, error, response } = await client.GET("/pets", {
    params: {
      query: {
        ...(query.has("limit") ? { limit: Number(query.get("limit")) } : {}),
        ...(query.has("status") ? { status: query.get("status") as Status } : {}),
      },
    },
  });
  return [response.status, data ?? error];
}

for await (const line of createInterface({ input: process.stdin })) {
  const answer = await call(JSON.parse(line)).catch(String); // an error of the client is a result too
  console.log(JSON.stringify(answer));
}
