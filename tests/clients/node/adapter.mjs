// The adapter of one client of this folder: node adapter.mjs NAME
import { serve } from '../../../adapters/node/petstore-adapter.mjs';
import { BUGGY } from './buggy.mjs';
import { CORRECT, UnreadableError } from './correct.mjs';

const Client = { ...CORRECT, ...BUGGY }[process.argv[2]];

serve({
  open: ({ url, apiKey, timeout }) => new Client(url, apiKey, timeout),
  listPets: (client, given) => client.list(given),
  createPet: (client, pet) => client.create(pet),
  getPet: (client, { petId }) => client.get(petId),
  close: (client) => client.close(),
  error: (error) => (error instanceof UnreadableError ? { kind: 'protocol' } : undefined),
});
