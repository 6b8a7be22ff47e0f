import { serve } from '../petstore-adapter.mjs';
import { ShopClient, StatusError, Unreachable } from './shop.mjs';

serve({
  open: ({ url, apiKey, timeout }) => new ShopClient(url, apiKey, { timeout }),
  listPets: (client, { limit, status }) => client.list({ limit, status }),
  createPet: (client, { name, categoryId, status }) => client.create({ name, categoryId, status }),
  getPet: (client, { petId }) => client.get(petId),
  error: (error) => {
    if (error instanceof StatusError) return { kind: 'status', status: error.status };
    if (error instanceof Unreachable) return { kind: error.cause.name === 'TimeoutError' ? 'timeout' : 'transport' };
    return { kind: 'protocol' };
  },
});
