import { createHash, randomUUID } from 'node:crypto';
import { S3Refusal } from './refusal.js';

export interface StoredObject {
  readonly bytes: Uint8Array;
  /** Milliseconds since 1970. */
  readonly modifiedAt: number;
  readonly etag: string;
  readonly metadata: Readonly<Record<string, string>>;
}

export interface Upload {
  readonly id: string;
  readonly key: string;
  /** Milliseconds since 1970; tests set it back. */
  initiatedAt: number;
  readonly metadata: Readonly<Record<string, string>>;
  readonly parts: Map<number, { readonly etag: string; readonly bytes: Uint8Array }>;
}

export interface Listing {
  readonly keys: readonly string[];
  readonly folders: readonly string[];
  /** Where the next page goes on, undefined on the last. */
  readonly next: string | undefined;
}

const smallestPart = 5 << 20;

/** A bucket in memory with S3's rules. */
export class Bucket {
  readonly objects = new Map<string, StoredObject>();
  readonly uploads = new Map<string, Upload>();

  get(key: string): StoredObject {
    const found = this.objects.get(key);
    if (found === undefined) throw new S3Refusal(404, 'NoSuchKey');
    return found;
  }

  /** `onlyNew`: `If-None-Match: *`. */
  put(key: string, bytes: Uint8Array, metadata: Readonly<Record<string, string>>, onlyNew: boolean): StoredObject {
    if (onlyNew && this.objects.has(key)) throw new S3Refusal(412, 'PreconditionFailed');
    const object = { bytes, modifiedAt: Date.now(), etag: etagOf(bytes), metadata };
    this.objects.set(key, object);
    return object;
  }

  /** Keys behind `after`, in the order of their UTF-8 bytes. */
  list(prefix: string, delimiter: string, after: string, limit: number): Listing {
    const below = [...this.objects.keys()]
      .filter((key) => key.startsWith(prefix) && compare(key, after) > 0)
      .sort(compare);
    const keys: string[] = [];
    const folders: string[] = [];
    let last: string | undefined;
    for (const key of below) {
      const end = delimiter === '' ? -1 : key.indexOf(delimiter, prefix.length);
      const folder = end < 0 ? undefined : key.slice(0, end + delimiter.length);
      if (folder === undefined || folder !== folders.at(-1)) {
        if (keys.length + folders.length === limit) return { keys, folders, next: last };
        if (folder === undefined) keys.push(key);
        else folders.push(folder);
      }
      last = key;
    }
    return { keys, folders, next: undefined };
  }

  begin(key: string, metadata: Readonly<Record<string, string>>): Upload {
    const upload = { id: randomUUID(), key, initiatedAt: Date.now(), metadata, parts: new Map() };
    this.uploads.set(upload.id, upload);
    return upload;
  }

  upload(id: string, key: string): Upload {
    const upload = this.uploads.get(id);
    if (upload?.key !== key) throw new S3Refusal(404, 'NoSuchUpload');
    return upload;
  }

  part(id: string, key: string, number: number, bytes: Uint8Array): string {
    const etag = etagOf(bytes);
    this.upload(id, key).parts.set(number, { etag, bytes });
    return etag;
  }

  /** Makes the object of the parts that the request names, in its order. */
  complete(
    id: string,
    key: string,
    named: readonly { readonly number: number; readonly etag: string }[],
  ): StoredObject {
    const upload = this.upload(id, key);
    const parts = named.map(({ number, etag }, at) => {
      const part = upload.parts.get(number);
      if (part?.etag !== etag) throw new S3Refusal(400, 'InvalidPart');
      if (number <= (named[at - 1]?.number ?? 0)) throw new S3Refusal(400, 'InvalidPartOrder');
      if (at < named.length - 1 && part.bytes.length < smallestPart) throw new S3Refusal(400, 'EntityTooSmall');
      return part.bytes;
    });
    if (parts.length === 0) throw new S3Refusal(400, 'MalformedXML');
    this.uploads.delete(id);
    return this.put(key, Buffer.concat(parts), upload.metadata, false);
  }
}

function etagOf(bytes: Uint8Array): string {
  return `"${createHash('md5').update(bytes).digest('hex')}"`;
}

function compare(a: string, b: string): number {
  return Buffer.compare(Buffer.from(a), Buffer.from(b));
}
