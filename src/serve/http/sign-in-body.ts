/** The members of a sign-in request, or why it can't be read: never with a value of it, which may be secret. */
export type SignInBody = ReadonlyMap<string, string> | { readonly wrong: string };

function formMembers(text: string): SignInBody {
  const members = new Map<string, string>();
  for (const [name, value] of new URLSearchParams(text)) {
    if (members.has(name)) return { wrong: 'The request repeats a parameter' };
    members.set(name, value);
  }
  return members;
}

function jsonMembers(text: string): SignInBody {
  let value: unknown;
  try {
    value = JSON.parse(text);
  } catch {
    return { wrong: 'The body is not JSON' };
  }
  if (typeof value !== 'object' || value === null || Array.isArray(value)) {
    return { wrong: 'The body is not a JSON object' };
  }
  const members = new Map<string, string>();
  for (const [name, member] of Object.entries(value)) {
    if (typeof member !== 'string') return { wrong: 'The body holds a parameter that is not a string' };
    members.set(name, member);
  }
  return members;
}

/**
 * Reads the body of a sign-in request: JSON where its type or its first byte says so, else a form (RFC 6749,
 * appendix B). Never throws. A parameter without a value is one that was left out (section 3.2).
 */
export function readSignInBody(body: Buffer, contentType: string): SignInBody {
  const text = body.toString('utf8');
  const isForm = /^application\/x-www-form-urlencoded\b/i.test(contentType);
  const isJson = /^application\/json\b/i.test(contentType) || (!isForm && text.trimStart().startsWith('{'));
  const members = isJson ? jsonMembers(text) : formMembers(text);
  return members instanceof Map ? new Map([...members].filter(([, value]) => value !== '')) : members;
}
