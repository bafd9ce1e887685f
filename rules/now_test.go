package rules_test

import (
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"kanon.dev/kanon/rules"
	"kanon.dev/kanon/rules/diagnostic"
	"kanon.dev/kanon/rules/program"
	"kanon.dev/kanon/rules/syntax"
)

// timeRule is a rule with one leaf of status, and variables.
func timeRule(t *testing.T, variables map[string]string, expr string) (*program.Program, diagnostic.Findings) {
	t.Helper()
	var list []map[string]any
	for name, text := range variables {
		var value any = text
		if strings.HasPrefix(text, "{") && json.Unmarshal([]byte(text), &value) != nil {
			t.Fatalf("%s is not JSON", text)
		}
		list = append(list, map[string]any{"name": name, "value": value})
	}
	spec := map[string]any{
		"parent": map[string]any{"apiVersion": "shop.example.com/v1", "kind": "WebApp"},
		"status": map[string]any{"out": expr},
	}
	if list != nil {
		spec["variables"] = list
	}
	text, err := json.Marshal(map[string]any{
		"apiVersion": "kanon.dev/v1alpha1", "kind": "Rule", "metadata": map[string]any{"name": "r"}, "spec": spec,
	})
	if err != nil {
		t.Fatal(err)
	}
	docs, findings := syntax.Decode("r.yaml", text)
	if findings.HasErrors() {
		t.Fatalf("%s: %v", expr, findings)
	}
	return rules.Compile(docs.Rules[0], rules.Options{})
}

func timeParent() *unstructured.Unstructured {
	return &unstructured.Unstructured{Object: map[string]any{
		"apiVersion": "shop.example.com/v1", "kind": "WebApp",
		"metadata": map[string]any{"name": "shop", "namespace": "a", "creationTimestamp": "2026-03-05T06:00:00Z"},
		"spec":     map[string]any{"ttl": "1h", "hours": []any{int64(1), int64(2), int64(3)}, "until": "2026-03-05T06:30:00.5Z"},
	}}
}

const created = `timestamp(parent.metadata.creationTimestamp)`

// Each expression is evaluated at 06:10:00. It must give the same in every
// second before it wakes, and something else then.
func TestReevaluateAt(t *testing.T) {
	t.Parallel()
	for name, test := range map[string]struct {
		variables map[string]string
		expr      string
		now, then any
		wake      string
	}{
		"now after":              {expr: `${now > ` + created + ` + duration(parent.spec.ttl)}`, now: false, then: true, wake: "07:00:01"},
		"now not before":         {expr: `${now >= ` + created + ` + duration(parent.spec.ttl)}`, now: false, then: true, wake: "07:00:00"},
		"now before":             {expr: `${now < ` + created + ` + duration(parent.spec.ttl)}`, now: true, then: false, wake: "07:00:00"},
		"the other way round":    {expr: `${` + created + ` + duration(parent.spec.ttl) <= now}`, now: false, then: true, wake: "07:00:00"},
		"over for good":          {expr: `${now > ` + created + `}`, now: true},
		"equal now":              {expr: `${now == ` + created + ` + duration("10m")}`, now: true, then: false, wake: "06:10:01"},
		"equal later":            {expr: `${now == ` + created + ` + duration("11m")}`, now: false, then: true, wake: "06:11:00"},
		"never equal":            {expr: `${now == timestamp(parent.spec.until)}`, now: false},
		"not equal":              {expr: `${now != ` + created + ` + duration("11m")}`, now: true, then: false, wake: "06:11:00"},
		"between two seconds":    {expr: `${now > timestamp(parent.spec.until)}`, now: false, then: true, wake: "06:30:01"},
		"age":                    {expr: `${now - ` + created + ` > duration("15m")}`, now: false, then: true, wake: "06:15:01"},
		"time left":              {expr: `${` + created + ` + duration("1h") - now < duration("45m")}`, now: false, then: true, wake: "06:15:01"},
		"shifted":                {expr: `${now + duration("10m") >= ` + created + ` + duration("30m")}`, now: false, then: true, wake: "06:20:00"},
		"shifted down":           {expr: `${now - duration("10m") >= ` + created + ` + duration("30m")}`, now: false, then: true, wake: "06:40:00"},
		"twice as fast":          {expr: `${(now - ` + created + `) + (now - ` + created + `) >= duration("30m")}`, now: false, then: true, wake: "06:15:00"},
		"now against now":        {expr: `${now + duration("1s") > now}`, now: true},
		"in a condition":         {expr: `${now < ` + created + ` + duration("1h") ? "young" : "old"}`, now: "young", then: "old", wake: "07:00:00"},
		"in a loop":              {expr: `${parent.spec.hours.filter(h, now > ` + created + ` + duration(string(h) + "h")).size()}`, now: 0.0, then: 1.0, wake: "07:00:01"},
		"bound":                  {expr: `${cel.bind(age, now - ` + created + `, age > duration("20m"))}`, now: false, then: true, wake: "06:20:01"},
		"the first of two":       {expr: `${[now > ` + created + ` + duration("2h"), now > ` + created + ` + duration("1h")]}`, now: []any{false, false}, then: []any{false, true}, wake: "07:00:01"},
		"what decides":           {expr: `${now > ` + created + ` + duration("1h") && now > ` + created + ` + duration("5m")}`, now: false, then: true, wake: "07:00:01"},
		"a variable":             {variables: map[string]string{"age": `${now - ` + created + `}`}, expr: `${variables.age > duration("15m")}`, now: false, then: true, wake: "06:15:01"},
		"a decided variable":     {variables: map[string]string{"old": `${now - ` + created + ` > duration("15m")}`}, expr: `is ${variables.old}`, now: "is false", then: "is true", wake: "06:15:01"},
		"a variable, not read":   {variables: map[string]string{"old": `${now > ` + created + ` + duration("15m")}`}, expr: `${1}`, now: 1.0},
		"a field of a map":       {expr: `${{"at": now, "x": 1}.at > ` + created + ` + duration("1h")}`, now: false, then: true, wake: "07:00:01"},
		"conditional times":      {expr: `${(parent.spec.ttl == "1h" ? now : now + duration("1s")) >= ` + created + ` + duration("1h")}`, now: false, then: true, wake: "07:00:00"},
		"converted":              {expr: `${timestamp(now) > ` + created + ` + duration("1h")}`, now: false, then: true, wake: "07:00:01"},
		"steps":                  {expr: `${truncate(now, duration("1h"))}`, now: "2026-03-05T06:00:00Z", then: "2026-03-05T07:00:00Z", wake: "07:00:00"},
		"steps, shifted":         {expr: `${truncate(now + duration("90s"), duration("1h"))}`, now: "2026-03-05T06:00:00Z", then: "2026-03-05T07:00:00Z", wake: "06:58:30"},
		"steps, shifted by less": {expr: `${truncate(now + duration("0.5s"), duration("1h"))}`, now: "2026-03-05T06:00:00Z", then: "2026-03-05T07:00:00Z", wake: "07:00:00"},
		"steps as text":          {expr: `at ${truncate(now, duration("1h")).getHours()} o'clock`, now: "at 6 o'clock", then: "at 7 o'clock", wake: "07:00:00"},
		"steps in a comparison":  {expr: `${truncate(now, duration("1h")).getHours() < 7}`, now: true, then: false, wake: "07:00:00"},
		"steps, held":            {variables: map[string]string{"t": `${now}`}, expr: `${truncate(variables.t, duration("1h"))}`, now: "2026-03-05T06:00:00Z", then: "2026-03-05T07:00:00Z", wake: "07:00:00"},
		"next":                   {expr: `${cron("15 * * * *", "UTC").next(now)}`, now: "2026-03-05T06:15:00Z", then: "2026-03-05T07:15:00Z", wake: "06:15:00"},
		"previous":               {expr: `${cron("15 * * * *", "UTC").previous(now)}`, now: "2026-03-05T05:15:00Z", then: "2026-03-05T06:15:00Z", wake: "06:15:00"},
		"previous, this second":  {expr: `${cron("10 * * * *", "UTC").previous(now)}`, now: "2026-03-05T06:10:00Z", then: "2026-03-05T07:10:00Z", wake: "07:10:00"},
		"after the next":         {expr: `${cron("15 * * * *", "UTC").next(now) > ` + created + ` + duration("1h")}`, now: false, then: true, wake: "06:15:00"},
		"near the next":          {expr: `${cron("15 * * * *", "UTC").next(now) - now < duration("2m")}`, now: false, then: true, wake: "06:13:01"},
		"between, to":            {expr: `${cron("15 * * * *", "UTC").between(` + created + `, now, 5).size()}`, now: 0.0, then: 1.0, wake: "06:15:00"},
		"between, from": {
			expr: `${cron("15 * * * *", "UTC").between(now, ` + created + ` + duration("90m"), 5)}`,
			now:  []any{"2026-03-05T06:15:00Z", "2026-03-05T07:15:00Z"}, then: []any{"2026-03-05T07:15:00Z"}, wake: "06:15:00",
		},
		"between, both": {
			expr: `${cron("15 * * * *", "UTC").between(now - duration("1h"), now, 5)}`,
			now:  []any{"2026-03-05T05:15:00Z"}, then: []any{"2026-03-05T06:15:00Z"}, wake: "06:15:00",
		},
		"no clock": {expr: `${` + created + ` < timestamp("2026-03-05T07:00:00Z")}`, now: true},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			compiled, findings := timeRule(t, test.variables, test.expr)
			if compiled == nil {
				t.Fatalf("findings: %v", findings)
			}
			at := time.Date(2026, 3, 5, 6, 10, 0, 0, time.UTC)
			got, wake := valueAt(t, compiled, at)
			if diff := cmp.Diff(test.now, got); diff != "" {
				t.Errorf("now (-want +got):\n%s", diff)
			}
			if wake.IsZero() || test.wake == "" {
				if !wake.IsZero() || test.wake != "" {
					t.Errorf("wakes at %v, want %q", wake, test.wake)
				}
				return
			}
			if text := wake.Format(time.TimeOnly); text != test.wake {
				t.Errorf("wakes at %s, want %s", text, test.wake)
			}
			if before, again := valueAt(t, compiled, wake.Add(-time.Nanosecond)); !cmp.Equal(before, test.now) || !again.Equal(wake) {
				t.Errorf("in the second before it is %v and wakes at %v", before, again)
			}
			if then, _ := valueAt(t, compiled, wake); !cmp.Equal(then, test.then) {
				t.Errorf("then it is %v, want %v", then, test.then)
			}
		})
	}
}

func valueAt(t *testing.T, compiled *program.Program, now time.Time) (any, time.Time) {
	t.Helper()
	out := compiled.Evaluate(t.Context(), program.Input{Parent: timeParent(), Now: now}).Result()
	if len(out.StatusFailed)+len(out.StatusWaiting) > 0 {
		t.Fatalf("%v %v", out.StatusFailed, out.StatusWaiting)
	}
	plain, err := json.Marshal(out.Status["out"])
	if err != nil {
		t.Fatal(err)
	}
	return asJSON(t, string(plain)), out.ReevaluateAt
}

// What goes with the clock in a way of which the next change is not known
// cannot be rendered, nor decide anything.
func TestMovingTimeIsAFinding(t *testing.T) {
	t.Parallel()
	for name, test := range map[string]struct {
		variables map[string]string
		expr      string
	}{
		"now":                       {expr: `${now}`},
		"now in text":               {expr: `at ${now}`},
		"age":                       {expr: `${now - ` + created + `}`},
		"as text":                   {expr: `${string(now)}`},
		"as a number":               {expr: `${int(now) > 5}`},
		"an hour":                   {expr: `${now.getHours() > 8}`},
		"in a list":                 {expr: `${[now, ` + created + `].max() > ` + created + `}`},
		"in a map":                  {expr: `${{"at": now}}`},
		"a key":                     {expr: `${{string(now): 1}}`},
		"an index":                  {expr: `${parent.spec.hours[int(now) % 3]}`},
		"in a loop":                 {expr: `${[now].map(t, t > ` + created + `)}`},
		"a loop over it":            {expr: `${[1, 2].map(i, now + duration(string(i) + "s"))}`},
		"by a condition":            {expr: `${(parent.spec.ttl == "" ? now : ` + created + `) > ` + created + `}`},
		"under a moving condition":  {expr: `${now.getSeconds() > 5 ? 1 : 2}`},
		"in an optional":            {expr: `${optional.of(now).value() > ` + created + `}`},
		"a step of a span":          {expr: `${truncate(` + created + `, now - ` + created + `)}`},
		"a step against the clock":  {expr: `${truncate(` + created + ` - (now - ` + created + `), duration("1h"))}`},
		"a variable":                {variables: map[string]string{"t": `${now}`}, expr: `${variables.t}`},
		"a variable's text":         {variables: map[string]string{"t": `at ${now}`}, expr: `${variables.t}`},
		"a variable of a variable":  {variables: map[string]string{"t": `${now}`, "u": `${string(variables.t)}`}, expr: `${variables.u}`},
		"a map in a variable":       {variables: map[string]string{"t": `{"at": "${now}"}`}, expr: `${variables.t}`},
		"a field that became text":  {variables: map[string]string{"t": `{"at": "${now}"}`}, expr: `${variables.t.at > "2026"}`},
		"a key in a variable":       {variables: map[string]string{"t": `{"x${now}": 1}`}, expr: `${size(variables.t)}`},
		"a list in a variable":      {variables: map[string]string{"t": `{"l": ["${now}"]}`}, expr: `${variables.t.l[0]}`},
		"a spliced list":            {variables: map[string]string{"t": `{"l": ["${...[now]}"]}`}, expr: `${variables.t.l}`},
		"equal as text":             {expr: `${toJson(now) == "x"}`},
		"in a set":                  {expr: `${now in [` + created + `]}`},
		"as the last that it knows": {expr: `${parent.?status.?since.orValue(now) < ` + created + `}`},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			compiled, findings := timeRule(t, test.variables, test.expr)
			if compiled != nil || len(findings) != 1 || findings[0].Code != diagnostic.CodeMovingTime {
				t.Errorf("findings %v, want one with %s", findings, diagnostic.CodeMovingTime)
			}
		})
	}
}

func TestReevaluateAtOfOtherPlaces(t *testing.T) {
	t.Parallel()
	at := time.Date(2026, 3, 5, 6, 10, 0, 0, time.UTC)
	text := `
apiVersion: kanon.dev/v1alpha1
kind: Rule
metadata: {name: r}
spec:
  parent:
    apiVersion: shop.example.com/v1
    kind: WebApp
    when: ${now > timestamp("2026-03-05T%s:00Z")}
  children:
  - id: a
    when: ${now > timestamp("2026-03-05T08:00:00Z")}
    template: {apiVersion: v1, kind: ConfigMap, metadata: {name: a}}
  - id: b
    readyWhen: ${now > timestamp("2026-03-05T07:30:00Z")}
    template: {apiVersion: v1, kind: ConfigMap, metadata: {name: b}}
`
	for name, test := range map[string]struct {
		when    string
		matches bool
		want    string
	}{
		"the predicate":     {"07:00", false, "07:00:01"},
		"when or readiness": {"06:00", true, "07:30:01"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			docs, findings := syntax.Decode("r.yaml", fmt.Appendf(nil, text, test.when))
			if findings.HasErrors() {
				t.Fatal(findings)
			}
			compiled, findings := rules.Compile(docs.Rules[0], rules.Options{})
			if compiled == nil {
				t.Fatal(findings)
			}
			ev := compiled.Evaluate(t.Context(), program.Input{Parent: timeParent(), Now: at})
			matches, err := ev.Matches()
			if err != nil || matches != test.matches {
				t.Fatal(errors.Join(err, fmt.Errorf("matches: %v", matches)))
			}
			if matches {
				for batch := ev.Next(); len(batch) > 0; batch = ev.Next() {
					for _, n := range batch {
						ev.Applied(n.Node, n.Objects)
					}
				}
				if out := ev.Result(); !out.ReevaluateAt.Equal(ev.ReevaluateAt()) {
					t.Errorf("the outcome says %v, the evaluation %v", out.ReevaluateAt, ev.ReevaluateAt())
				}
			}
			if got := ev.ReevaluateAt().Format(time.TimeOnly); got != test.want {
				t.Errorf("wakes at %s, want %s", got, test.want)
			}
		})
	}
}
