#!/bin/sh
# Shows a rule at work, step by step, on a real API server. Each step is checked:
# the script exits 1 when one does not come out. DEMO=once ends after the last
# step; otherwise everything stays up until Ctrl-C.
set -eu
cd "$(dirname "$0")/.."

state=.demo
export KUBECONFIG="$PWD/$state/kubeconfig"
controlplane_pid='' kanon_pid='' watch_pids='' reader_pids=''

# ---- how it looks -----------------------------------------------------------

if [ -t 1 ]; then bold=$(printf '\033[1m') dim=$(printf '\033[2m') plain=$(printf '\033[0m'); else bold='' dim='' plain=''; fi
number=0
step() { number=$((number + 1)); printf '\n%s%d. %s%s\n' "$bold" "$number" "$1" "$plain"; }
note() { printf '%s   %s%s\n' "$dim" "$1" "$plain"; }
kubectl() { bin/controlplane kubectl "$@"; }
# show prints a command as a user would type it, and runs it.
show() {
	line='   $'
	for word in "$@"; do
		case $word in *[!a-zA-Z0-9_./=:,@-]*) word="'$word'" ;; esac
		line="$line $word"
	done
	printf '%s\n' "$line"
	"$@" >"$state/output" 2>&1 && worked=yes || worked=''
	sed 's/^/   /' "$state/output"
	[ "$worked" ] || fail "$*"
}
fail() {
	printf '\n%sThis step did not come out: %s%s\n' "$bold" "$1" "$plain" >&2
	printf 'The last lines of the logs:\n' >&2
	tail -n 15 "$state/kanon.log" "$state/controlplane.log" >&2 || true
	exit 1
}
# field prints one field of an object: KIND/NAME and a JSONPath.
field() { kubectl get "$1" -o "jsonpath={$2}"; }
# await polls a command until it succeeds, for at most half a minute.
await() {
	message=$1; shift; tries=0
	until "$@" >/dev/null 2>&1; do
		tries=$((tries + 1)); [ "$tries" -lt 150 ] || fail "$message"
		sleep 0.2
	done
}

# ---- what runs beside -------------------------------------------------------

stop() {
	status=$?
	trap - EXIT INT TERM
	for pid in $watch_pids $kanon_pid $controlplane_pid; do kill "$pid" 2>/dev/null || true; done
	for pid in $kanon_pid $controlplane_pid; do wait "$pid" 2>/dev/null || true; done
	exit "$status"
}
trap stop EXIT
trap 'exit 130' INT TERM

is_ready() { grep -q '^ready' "$state/controlplane.out"; }
is_there_or_dead() { is_ready || ! kill -0 "$controlplane_pid" 2>/dev/null; }
has_new_uid() { uid=$(field service/storefront .metadata.uid) && [ "$uid" != "$before" ]; }
is_scaled() { [ "$(field deployment/storefront .status.availableReplicas)" = 5 ]; }
# watch prints every change of the objects of a kind until unwatch.
watch() {
	printf '   $ kubectl get %s --watch\n' "$1"
	rm -f "$state/$1.watch" && mkfifo "$state/$1.watch"
	bin/controlplane kubectl get "$1" --watch >"$state/$1.watch" 2>/dev/null &
	watch_pids="$watch_pids $!"
	while IFS= read -r line; do printf '   %s\n' "$line"; done <"$state/$1.watch" &
	reader_pids="$reader_pids $!"
}
unwatch() {
	for pid in $watch_pids; do kill "$pid" 2>/dev/null || true; done
	for pid in $reader_pids; do wait "$pid" 2>/dev/null || true; done
	watch_pids='' reader_pids=''
}
is_current() {
	[ "$(field webapp/storefront '.status.conditions[?(@.type=="Ready")].status')" = True ] &&
		[ "$(field webapp/storefront '.status.conditions[?(@.type=="Ready")].observedGeneration')" = "$(field webapp/storefront .metadata.generation)" ] &&
		[ "$(field webapp/storefront .status.availableReplicas)" = "$(field webapp/storefront .spec.replicas)" ]
}
# is_gone asks for an object; an API server that does not answer is no answer.
is_gone() { left=$(kubectl get "$1" --ignore-not-found -o name) && [ -z "$left" ]; }

rm -rf "$state" && mkdir -p "$state"
printf '%sKanon demo%s: rules in, children and status out.\n' "$bold" "$plain"

step 'Start a Kubernetes control plane (etcd, API server, controllers, a simulated node)'
bin/controlplane up --kubeconfig "$KUBECONFIG" --dir "$state/controlplane" >"$state/controlplane.out" 2>"$state/controlplane.log" &
controlplane_pid=$!
await 'the control plane did not get ready' is_there_or_dead
is_ready || fail 'the control plane ended'
show kubectl get nodes

step 'Start Kanon'
show kubectl create namespace kanon-system
printf '   $ bin/kanon run --kubeconfig %s\n' "$state/kubeconfig"
# Without the ports for health and metrics, which may be taken here.
bin/kanon run --kubeconfig "$KUBECONFIG" --health-probe-bind-address=0 --metrics-bind-address=0 2>"$state/kanon.log" &
kanon_pid=$!
note "its log is in $state/kanon.log"

step 'Apply a rule: a ConfigMap with a label. It has the fields of a new kind, WebApp'
show kubectl -n kanon-system create configmap webapp --from-file=examples/webapp/rule.yaml
show kubectl -n kanon-system label configmap webapp kanon.dev/rules=true
await 'Kanon did not accept the rule' sh -c 'bin/controlplane kubectl -n kanon-system get configmap webapp -o yaml | grep -q "ready\":true"'
note "what Kanon says of it: $(kubectl -n kanon-system get configmap webapp -o 'jsonpath={.metadata.annotations.kanon\.dev/status}')"
note 'Kanon has made the CustomResourceDefinition:'
await 'the API server does not explain the kind' sh -c 'bin/controlplane kubectl explain webapp.spec.autoscaling'
show kubectl explain webapp.spec.autoscaling

step 'Create a parent of the new kind, and watch children and status fill in'
sed 's/^/   | /' examples/webapp/parent.yaml
watch deployment
watch webapp
show kubectl apply -f examples/webapp/parent.yaml
await 'the WebApp did not become ready' is_current
unwatch
for child in configmap/storefront-settings deployment/storefront service/storefront; do
	kubectl get "$child" >/dev/null || fail "there is no $child"
done
show kubectl get configmap,deployment,service -l kanon.dev/rule
note "status: $(field webapp/storefront .status.url), $(field webapp/storefront .status.availableReplicas) available"

step 'Change the parent: five replicas instead of three'
watch deployment
watch webapp
show kubectl patch webapp storefront --type=merge -p '{"spec":{"replicas":5}}'
await 'the WebApp did not become ready again' is_current
unwatch
is_scaled || fail 'the Deployment did not get its five replicas'

step 'Somebody deletes a child by mistake: it is put right at once'
before=$(field service/storefront .metadata.uid)
show kubectl delete service storefront
await 'the Service did not come back' has_new_uid
show kubectl get service storefront

step 'Delete the parent: its children go with it'
show kubectl delete webapp storefront
await 'the Deployment was not collected' is_gone deployment/storefront
await 'the Service was not collected' is_gone service/storefront
await 'the ConfigMap was not collected' is_gone configmap/storefront-settings
show kubectl get configmap,deployment,service -l kanon.dev/rule

printf '\n%sEvery step came out.%s\n' "$bold" "$plain"
[ "${DEMO:-}" = once ] && exit 0

cat <<END

Play on from another terminal, in this directory:

   export KUBECONFIG=$KUBECONFIG
   alias kubectl=$PWD/bin/controlplane\ kubectl      # or your own kubectl

   kubectl apply -f examples/webapp/parent.yaml
   kubectl -n kanon-system edit configmap webapp     # a rule takes effect as you save it
   kubectl -n kanon-system create configmap foo --from-file=examples/foo/rule.yaml
   kubectl -n kanon-system label configmap foo kanon.dev/rules=true
   kubectl wait --for=condition=Established crd/foos.samplecontroller.k8s.io
   kubectl apply -f examples/foo/parent.yaml

Ctrl-C ends it all.
END
wait "$kanon_pid"
