import type { ScannedPage } from '../../sources/finances/api-v0/finances-page.js';
import { kind } from '../../core/json/tape.js';

/** Which operations a body can be an answer of: what it holds tells. One that holds neither is an empty page. */
export interface PageContent {
  readonly hasEvents: boolean;
  readonly hasGroups: boolean;
}

export function contentOf({ tape, payload }: ScannedPage): PageContent {
  const has = (name: string): boolean => {
    const member = tape.member(payload, name);
    return member !== undefined && tape.kind(member) !== kind.null;
  };
  return { hasEvents: has('FinancialEvents'), hasGroups: has('FinancialEventGroupList') };
}
