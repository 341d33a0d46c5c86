#!/usr/bin/env bash
# Installs a fresh clone of this checkout's last commit on each Node, by folder and by tarball, and uses what is installed.
#
#   test/installed/nodes.sh              Node 20, 22, 24 and the newest
#   test/installed/nodes.sh VERSION...   versions or tags of npm's package `node`
#
# Prints seconds and bytes of each install. It takes about 3 minutes and 600 MB of a temporary folder for each Node.
set -euo pipefail
cd "$(dirname "$0")/../.."
root=$PWD
[ $# -gt 0 ] || set -- 20 22 24 latest
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
path=$PATH

# Puts a Node of npm's package first on PATH. npm's own scripts run on it, too.
use_node() {
  mkdir -p "$folder/node-$1"
  (cd "$folder/node-$1" && PATH=$path npm install --prefix . --no-audit --no-fund --silent "node@$1" >/dev/null)
  PATH=$(dirname "$(find "$folder/node-$1/node_modules" -path '*/bin/node' -type f -size +1M | head -n 1)"):$path
}

for version in "$@"; do
  use_node "$version"
  node --version
  git clone --quiet "$root" "$folder/clone"

  # By folder: npm links it, and builds it with packages of its own.
  mkdir "$folder/by-folder"
  cd "$folder/by-folder"
  npm init --yes >/dev/null
  start=$SECONDS
  npm install --no-audit --no-fund --silent ../clone
  echo "  by folder: $((SECONDS - start)) s, $(du -sm ../clone/node_modules | cut -f1) MB with what builds and tests it"
  npx --no-install ledgerlake --version | grep -q '^[0-9]*\.[0-9]*\.[0-9]*$'
  cd "$folder"

  # By tarball, packed where nothing is installed.
  rm -rf clone
  git clone --quiet "$root" clone
  (cd clone && npm pack --silent --pack-destination "$folder" >/dev/null)
  bash "$root/test/installed/run.sh" "$folder"/ledgerlake-*.tgz
  rm -rf clone by-folder ledgerlake-*.tgz "node-$version"
done

# One that is too old ends in a sentence, before anything is imported.
for version in 14 18; do
  use_node "$version"
  code=0
  said=$(node "$root/dist/src/cli.js" --version 2>&1) || code=$?
  [ "$code" = 2 ] && [ "$(wc -l <<<"$said")" = 1 ] && grep -q 'expected Node 20.19 or newer' <<<"$said" ||
    { echo "Node $version ends with $code: $said"; exit 1; }
done
