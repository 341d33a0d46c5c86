import { limits } from '../../sources/finances/api-v0/operations.js';
import { percentDecoded } from './routes.js';
import type { FaultRequest } from './fault-injection.js';

function parametersOf(query: string): Record<string, string> {
  const pairs = query
    .split('&')
    .filter((pair) => pair !== '')
    .map((pair): [string, string] => {
      const [name = '', ...value] = pair.split('=').map((text) => percentDecoded(text) ?? text);
      return [name, value.join('=')];
    });
  // Own members whatever they are called: `__proto__` would be lost by assignment.
  return Object.fromEntries(pairs);
}

/** Numbers the requests of a service as they come in. */
export class Arrivals {
  #number = 0;
  readonly #inOperation = new Map<FaultRequest['operation'], number>();

  /** The next request. `query`: percent-encoded. */
  next(operation: FaultRequest['operation'], query: string): FaultRequest {
    const numberInOperation = (this.#inOperation.get(operation) ?? 0) + 1;
    this.#inOperation.set(operation, numberInOperation);
    this.#number += 1;
    const parameters = parametersOf(query);
    return {
      operation,
      number: this.#number,
      numberInOperation,
      hasToken: Object.hasOwn(parameters, 'NextToken'),
      pageSize: Number(parameters['MaxResultsPerPage'] ?? limits.pageSize),
      parameters,
    };
  }
}
