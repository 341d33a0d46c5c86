/** Rejects the steps that wait for parquet-wasm. */
const waiting = new Set<(trap: Error) => void>();

/**
 * Instantiates parquet-wasm by `initialize`. It runs its asynchronous tasks as microtasks: a trap in one of them, as damaged files
 * cause it, would be an uncaught exception, and its step would never end. Here such a trap fails the steps of `orTrap`.
 */
export function catchTraps(initialize: () => void): void {
  const { Instance } = WebAssembly;
  // The package offers no other access to the imports of its module. It instantiates the module synchronously.
  WebAssembly.Instance = class extends Instance {
    constructor(module: WebAssembly.Module, imports: WebAssembly.Imports) {
      super(module, withCaughtTraps(imports));
    }
  };
  try {
    initialize();
  } finally {
    WebAssembly.Instance = Instance;
  }
}

/** The step's result. Throws an Error where parquet-wasm ends in a trap meanwhile. */
export function orTrap<T>(step: Promise<T>): Promise<T> {
  return new Promise((resolve, reject) => {
    waiting.add(reject);
    const end = (): boolean => waiting.delete(reject);
    step.then(resolve, reject).finally(end);
  });
}

function withCaughtTraps(imports: WebAssembly.Imports): WebAssembly.Imports {
  const caught = Object.entries(imports).map(([module, functions]) => [
    module,
    Object.fromEntries(
      Object.entries(functions).map(([name, called]) => [
        name,
        name.startsWith('__wbg_queueMicrotask_') ? caughtIn(called) : called,
      ]),
    ),
  ]);
  return Object.fromEntries(caught) as WebAssembly.Imports;
}

/** One of the two functions takes a task, the other one returns the queue's function of a global object. */
function caughtIn(called: WebAssembly.Import): WebAssembly.Import {
  return (given) => {
    if (typeof given !== 'function') return called(given);
    const task = given as () => void;
    return called(() => {
      try {
        task();
      } catch (cause) {
        if (waiting.size === 0) throw cause;
        const trap = new Error('expected a readable Parquet file, its bytes end parquet-wasm in a trap', { cause });
        for (const reject of waiting) reject(trap);
        waiting.clear();
      }
    });
  };
}
