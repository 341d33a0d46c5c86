/**
 * The bytes of an answer with every occurrence of a secret replaced: a service may quote what it was sent, and its
 * answers stand in errors.
 */
export function withoutSecret(body: Uint8Array, secret: string): Uint8Array {
  const bytes = Buffer.from(body.buffer, body.byteOffset, body.byteLength);
  if (secret === '' || !bytes.includes(secret)) return body;
  // One byte is one character here, so that bytes that aren't UTF-8 come through.
  const text = bytes.toString('latin1').replaceAll(Buffer.from(secret).toString('latin1'), '[secret]');
  return Buffer.from(text, 'latin1');
}
