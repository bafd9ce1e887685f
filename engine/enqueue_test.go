package engine_test

import (
	"strings"
	"testing"
	"time"

	"kanon.dev/kanon/engine"
)

// timedRule makes a ConfigMap up to a time, and says in the status what time
// it is by the hour.
const timedRule = `
apiVersion: kanon.dev/v1alpha1
kind: Rule
metadata: {name: timed}
spec:
  parent: {apiVersion: $GROUP/v1, kind: Box}
  children:
  - id: young
    when: ${now < timestamp("UNTIL")}
    template:
      apiVersion: v1
      kind: ConfigMap
      metadata: {name: "${parent.metadata.name}-young"}
  status:
    color: '${now < timestamp("UNTIL") ? "young" : "old"}'
`

// Nothing but the time changes; the rule is evaluated again all the same.
func TestNowWakes(t *testing.T) {
	t.Parallel()
	w := newWorld(t, "Box")
	clock := newHandClock()
	until := clock.Now().UTC().Add(2 * time.Second).Format(time.RFC3339)
	w.rule("timed", strings.ReplaceAll(timedRule, "UNTIL", until))
	w.run(func(o *engine.Options) { o.Clock = clock })
	w.parent("Box", "red", "{}")
	w.await(w.resource("Box"), w.home, "red", "is young", has("young", "status", "color"))
	w.get(configMaps, w.home, "red-young")

	w.quiet() // no event is on its way any more

	clock.advance()
	w.await(w.resource("Box"), w.home, "red", "is old", has("old", "status", "color"))
	w.awaitGone(configMaps, w.home, "red-young")
}
