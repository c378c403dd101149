#!/bin/bash
# The GitHub Action runs this: `bpfrun test` and `bpfrun matrix` on every kernel. Annotations go to standard output, tables to the
# job summary; the worst exit code is the output and the exit status. Input: TESTS, OBJECTS, KERNELS and STRICT in the environment.
set -uo pipefail
shopt -s nullglob

reports=$(mktemp -d)
trap 'rm -rf "$reports"' EXIT

args=()
while IFS= read -r kernel; do
	kernel=${kernel#"${kernel%%[![:space:]]*}"}
	kernel=${kernel%"${kernel##*[![:space:]]}"}
	[ -z "$kernel" ] || args+=(--btf "$kernel")
done <<<"${KERNELS:-embedded}"
[ "${STRICT:-false}" != true ] || args+=(--strict)

# The first of these codes with which any command ends is the exit status, as in bpfrun itself.
worst() {
	local code
	for code in 70 2 3 4 5 1; do
		if [ "$1" = "$code" ] || [ "$2" = "$code" ]; then
			echo "$code"
			return
		fi
	done
	echo "$(($1 > $2 ? $1 : $2))"
}

status=0
# run COMMAND PATHS: PATHS are words and globs, as in a shell.
run() {
	local command=$1 code=0
	shift
	# shellcheck disable=SC2086 # words and globs on purpose
	bpfrun "$command" ${1} "${args[@]}" -o md="$reports/$command.md" -o github="$reports/$command.txt" || code=$?
	[ ! -e "$reports/$command.txt" ] || cat "$reports/$command.txt"
	[ ! -e "$reports/$command.md" ] || cat "$reports/$command.md" >>"${GITHUB_STEP_SUMMARY:-/dev/null}"
	status=$(worst "$status" "$code")
}

[ -n "${TESTS:-}${OBJECTS:-}" ] || { echo "::error title=bpfrun::set the input tests, objects, or both"; exit 2; }
[ -z "${TESTS:-}" ] || run test "$TESTS"
[ -z "${OBJECTS:-}" ] || run matrix "$OBJECTS"
echo "exit-code=$status" >>"${GITHUB_OUTPUT:-/dev/null}"
exit "$status"
