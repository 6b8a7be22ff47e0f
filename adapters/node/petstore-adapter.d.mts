/** The kit for `petstore-mock check`: an adapter between the check and a client. */
export interface Opened {
  url: string;
  apiKey: string;
  /** Seconds. */
  timeout: number;
  /** The path of the certificate authority to trust, if the service speaks TLS. */
  ca?: string;
}

export type Told = { kind: 'status'; status: number } | { kind: 'timeout' | 'transport' | 'protocol' | 'other' };
type Operation<Client> = (client: Client, given: any, options: { signal: AbortSignal }) => unknown;

export interface Adapter<Client> {
  /** Make a client. */
  open(given: Opened): Client | Promise<Client>;
  listPets?: Operation<Client>;
  createPet?: Operation<Client>;
  getPet?: Operation<Client>;
  /** Whether the operations heed `signal`, so that the check cancels calls. */
  cancel?: boolean;
  close?(client: Client): unknown;
  /** Return the meaning of an error of the client. The default knows Node, fetch, undici, axios and got. */
  error?(error: unknown): Told | Promise<Told>;
}

export function serve<Client>(adapter: Adapter<Client>): void;
/** Parse JSON with integers beyond 2^53 as bigint. */
export function parseJson(text: string): any;
export function stringifyJson(value: unknown): string;
export function errorOf(error: unknown): Told;
