import { isDeepStrictEqual } from 'node:util';
import type { Clock } from '../../core/clock.js';
import { continuationOf, ReceivedSoFar } from '../../sources/finances/api-v0/cursor-recovery.js';
import { contentsOf } from '../../sources/finances/api-v0/contents.js';
import type { Asking, ReceivedPage, RequestPage } from './page-requests.js';
import { limits, operations, type Operation, type OperationName } from '../../sources/finances/api-v0/operations.js';
import { resultsOf } from '../../sources/finances/api-v0/page-results.js';
import { FoundSize, PageSize } from './page-size.js';
import type { ScannedPage } from '../../sources/finances/api-v0/finances-page.js';
import { ReadFailure } from '../retry/read-failure.js';
import { followUp, type RequestParameters } from '../../sources/finances/api-v0/request-path.js';

/** A question: everything that a first request holds but the size of its page. */
export interface Question {
  readonly operation: OperationName;
  readonly parameters: RequestParameters;
}

/** A page of a question as it was received. */
export interface KnownPage {
  readonly body: Uint8Array;
  readonly page: ScannedPage;
  /** The token that it was asked with; undefined: the question itself. */
  readonly asked: string | undefined;
  /** Milliseconds since 1970. */
  readonly receivedAt: number;
  /** Results a page that were asked for. */
  readonly pageSize: number;
}

export interface ChainOptions extends Asking {
  readonly request: RequestPage;
  readonly clock: Clock;
  /** Results a page, where the service can send so many. */
  readonly pageSize?: number;
  /** What the operation's other chains have found out about that. */
  readonly foundSize?: FoundSize;
  /** The question's first pages, received earlier and without a gap: they aren't asked for again. */
  readonly resume?: readonly KnownPage[];
  /** For how long a token is taken: one of `resume` that is older isn't sent any more. */
  readonly tokenLifeMs?: number;
  /** Called for every page that comes over the wire and belongs to the answer, before it is handed on. */
  readonly onPage?: (known: KnownPage) => Promise<void> | void;
}

/** Pages without a result are normal, but so many in a row come from a service that runs in a circle. */
const mostEmptyPages = 1000;
/** Times in a row that the place is found again without that a page comes of it. */
const mostFinds = 3;

/** A chain of pages, as far as it has been read. */
export class Chain {
  readonly #question: Question;
  readonly #options: ChainOptions;
  readonly #received: ReceivedSoFar;
  readonly #size: PageSize;
  /** Tokens asked for, each with the number of its page. */
  readonly #asked = new Map<string, number>();
  #pages = 0;
  #emptyPages = 0;
  #isDone = false;
  /** The page taken last, and how it was asked for. */
  #last: Pick<KnownPage, 'asked' | 'pageSize' | 'page'> | undefined;
  /** The token that leads on; undefined: the question itself does. */
  #token: string | undefined;
  /** Results a page that the token's own page was asked with. */
  #tokenSize: number;
  /** Results a page that the last page with results was asked with. */
  #lastSize: number;
  /** How often the place was found again since the last page came. */
  #finds = 0;

  constructor(question: Question, options: ChainOptions) {
    const { pageSize = limits.pageSize, foundSize = new FoundSize(), resume = [] } = options;
    this.#question = question;
    this.#options = options;
    this.#received = new ReceivedSoFar(question.operation);
    this.#size = new PageSize(pageSize, foundSize, resume.at(-1)?.pageSize);
    this.#tokenSize = this.#size.now;
    this.#lastSize = this.#size.now;
  }

  /** Takes in a page that is part of the answer. */
  take({ page, asked, pageSize }: KnownPage): void {
    const results = resultsOf(page, operations[this.#question.operation].result);
    this.#pages++;
    if (asked !== undefined) this.#asked.set(asked, this.#pages);
    this.#last = { asked, pageSize, page };
    this.#received.add(page);
    this.#token = page.nextToken;
    this.#tokenSize = pageSize;
    if (results > 0) this.#lastSize = pageSize;
    this.#emptyPages = results === 0 ? this.#emptyPages + 1 : 0;
    this.#isDone = page.nextToken === undefined;
    this.#finds = 0;
    this.#size.grow();
  }

  /** The page that follows; undefined behind the last one. */
  async next(): Promise<ScannedPage | undefined> {
    if (!this.#isDone) await this.#leaveCircle();
    if (this.#isDone) return undefined;
    const known = await this.#nextReceived();
    await this.#options.onPage?.(known);
    this.#options.counts.pages++;
    this.take(known);
    return known.page;
  }

  /** Asks for the page that follows until there is one, in another way each time. */
  async #nextReceived(): Promise<KnownPage> {
    for (;;) {
      const [token, pageSize] = [this.#token, this.#size.now];
      try {
        const { page, body } = await this.#ask(this.#parameters(token, pageSize), this.#size.isGuess);
        return { page, body, asked: token, receivedAt: this.#options.clock.now(), pageSize };
      } catch (error) {
        if (!(error instanceof ReadFailure)) throw error;
        await this.#findAnotherWay(error, pageSize);
      }
    }
  }

  /** Changes what is asked next after a failure, or throws it. */
  async #findAnotherWay(failure: ReadFailure, pageSize: number): Promise<void> {
    const { kind } = failure;
    if (kind === 'too-large') {
      if (!this.#size.shrink()) throw failure.after(this.#pages);
      return;
    }
    // The service doesn't always say that a page is too large. A size that was good for the token isn't to blame.
    if (kind === 'invalid' && (this.#token === undefined || pageSize <= this.#tokenSize)) {
      if (this.#size.shrink()) return;
      if (this.#size.isGuess) throw failure.after(this.#pages);
    }
    if (this.#token === undefined) throw failure.after(this.#pages);
    // Perhaps a token holds only for the size that it came with. A token that has just been found hasn't expired.
    const isNoLongerTaken = kind === 'token-expired' && this.#finds === 0;
    const mayBeItsSize = kind === 'invalid' || kind === 'mistake' || kind === 'token-expired';
    if (!isNoLongerTaken && mayBeItsSize && pageSize !== this.#tokenSize) {
      this.#size.fix(Math.min(pageSize, this.#tokenSize));
      // For a larger size the place needn't be looked for: the token is good for the one before.
      if (pageSize > this.#tokenSize) return;
    } else if (kind !== 'token-expired') throw failure.after(this.#pages);
    await this.findPlace(failure);
  }

  /**
   * Finds the place again where the pages end that were received, by another token.
   *
   * @throws ReadFailure `token-expired` where that can't be done for certain, and what the requests fail with
   */
  async findPlace(failure?: ReadFailure): Promise<void> {
    if (this.#isDone) return;
    const { operation, parameters } = this.#question;
    const size = Math.min(this.#size.now, this.#lastSize);
    const ask = async (asked: RequestParameters): Promise<ScannedPage> => (await this.#ask(asked)).page;
    const found =
      this.#finds === mostFinds
        ? undefined
        : await continuationOf(operation, parameters, this.#received, size, ask).catch((error: unknown) => {
            if (!(error instanceof ReadFailure)) throw error;
            // A token that dies between two requests, or pages that are too large now: not to be found in this way.
            if (error.kind === 'token-expired' || error.kind === 'too-large') return undefined;
            throw error.after(this.#pages);
          });
    if (found === undefined) throw this.#lost(failure);
    this.#token = found.token;
    this.#tokenSize = size;
    this.#finds++;
  }

  #ask(parameters: RequestParameters, isGuess = false): Promise<ReceivedPage> {
    const { request, priority, signal, counts, emit } = this.#options;
    return request(this.#question.operation, parameters, { priority, signal, counts, emit, isGuess });
  }

  #parameters(token: string | undefined, pageSize: number): RequestParameters {
    const { operation, parameters } = this.#question;
    const sized = { ...parameters, MaxResultsPerPage: pageSize };
    return token === undefined ? sized : followUp(operation, sized, token);
  }

  /** A token that came round once may have been a slip: where the same page leads on when it is asked for again, it was. */
  async #leaveCircle(): Promise<void> {
    const last = this.#last;
    if (last !== undefined && this.#isInCircle()) {
      const { page } = await this.#ask(this.#parameters(last.asked, last.pageSize));
      const { operation } = this.#question;
      if (isDeepStrictEqual(contentsOf(page, operation).results, contentsOf(last.page, operation).results)) {
        this.#token = page.nextToken;
        this.#isDone = page.nextToken === undefined;
        this.#last = { ...last, page };
      }
    }
    this.#refuseCircle();
  }

  #isInCircle(): boolean {
    return this.#token !== undefined && this.#finds === 0 && this.#asked.has(this.#token);
  }

  #refuseCircle(): void {
    const before = this.#token === undefined || this.#finds > 0 ? undefined : this.#asked.get(this.#token);
    const what =
      before === undefined
        ? this.#emptyPages > mostEmptyPages && `got ${this.#emptyPages} empty pages in a row`
        : `got the token of page ${before} again`;
    if (what === false) return;
    const message =
      `Expected page ${this.#pages} of ${this.#question.operation} to end the list or to lead to a new page, ${what}: ` +
      `the service runs in a circle. Please try again later${this.#orShorter()}.`;
    throw new ReadFailure('loop', 'UPSTREAM_BODY', message, { pages: this.#pages });
  }

  /** A settlement or an order has no range that could be shorter. */
  #orShorter(): string {
    const { range }: Operation = operations[this.#question.operation];
    return range === undefined ? '' : ', or with a shorter range';
  }

  #lost(failure: ReadFailure | undefined): ReadFailure {
    const message =
      `Expected ${this.#question.operation} to go on after page ${this.#pages}, but its token has expired, ` +
      `and where the pages end can not be found again for certain. Please run it again${this.#orShorter()}.`;
    const code = failure?.code ?? 'UPSTREAM_STATUS';
    return new ReadFailure('token-expired', code, message, {
      pages: this.#pages,
      ...(failure === undefined ? {} : { cause: failure, tries: failure.tries }),
      ...(failure?.status === undefined ? {} : { status: failure.status }),
      ...(failure?.details === undefined ? {} : { details: failure.details }),
    });
  }
}
