#!/usr/bin/env bash
# Installs a fresh clone of this checkout's last commit on each Node, by folder, git URL, tarball and make, and uses what is installed.
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

# Installs a way, from what it names, into a folder, and uses it.
install_from() {
  mkdir "$folder/by-$1"
  cd "$folder/by-$1"
  npm init --yes >/dev/null
  local start=$SECONDS
  npm install --no-audit --no-fund --silent "$2"
  echo "  by $1: $((SECONDS - start)) s, $(du -sm "$3" | cut -f1) MB in $3"
  npx --no-install ledgerlake --version | grep -q '^[0-9]*\.[0-9]*\.[0-9]*$'
  cd "$folder"
}

for version in "$@"; do
  use_node "$version"
  node --version
  git clone --quiet "$root" "$folder/clone"

  # By folder: npm links it, and builds it with packages of its own. By URL: npm clones, builds and packs it.
  install_from folder ../clone ../clone/node_modules
  install_from url "git+file://$folder/clone" node_modules

  # By tarball, packed where nothing is installed.
  rm -rf clone
  git clone --quiet "$root" clone
  (cd clone && npm pack --silent --pack-destination "$folder" >/dev/null)
  bash "$root/test/installed/run.sh" "$folder"/ledgerlake-*.tgz

  # By make: of the packages for development only what a build needs.
  rm -rf clone
  git clone --quiet "$root" clone
  start=$SECONDS
  make --silent -C clone build >/dev/null
  echo "  by make: $((SECONDS - start)) s, $(du -sm clone/node_modules | cut -f1) MB in clone/node_modules"
  [ ! -e clone/node_modules/vitest ]
  clone/dist/src/cli.js --version | grep -q '^[0-9]*\.[0-9]*\.[0-9]*$'
  git -C clone diff --quiet
  rm -rf clone by-folder by-url ledgerlake-*.tgz "node-$version"
done

# One that is too old ends in a sentence, before anything is imported.
for version in 14 18; do
  use_node "$version"
  code=0
  said=$(node "$root/dist/src/cli.js" --version 2>&1) || code=$?
  [ "$code" = 2 ] && [ "$(wc -l <<<"$said")" = 1 ] && grep -q 'expected Node 20.19 or newer' <<<"$said" ||
    { echo "Node $version ends with $code: $said"; exit 1; }
done
