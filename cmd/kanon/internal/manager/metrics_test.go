package manager_test

import (
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"

	"kanon.dev/kanon/cmd/kanon/internal/manager"
	"kanon.dev/kanon/engine"
	"kanon.dev/kanon/engine/catalog"
	"kanon.dev/kanon/engine/conditions"
	"kanon.dev/kanon/engine/telemetry"
	"kanon.dev/kanon/engine/watch"
)

// scrape is what a registry tells of Kanon, without comments.
func scrape(t *testing.T, r *manager.Registry) string {
	t.Helper()
	answer := httptest.NewRecorder()
	r.Handler().ServeHTTP(answer, httptest.NewRequestWithContext(t.Context(), http.MethodGet, "/metrics", http.NoBody))
	if answer.Code != http.StatusOK {
		t.Fatalf("%d: %s", answer.Code, answer.Body)
	}
	var lines strings.Builder
	for line := range strings.Lines(answer.Body.String()) {
		if strings.HasPrefix(line, "kanon_") {
			lines.WriteString(line)
		}
	}
	return lines.String()
}

func rule(name string) engine.RuleStats {
	return engine.RuleStats{
		Summary: catalog.Summary{ID: name, Name: types.NamespacedName{Namespace: "home", Name: name}, Revision: "abc", Errors: 2, Warnings: 1},
		Runs:    true, Waiting: 3, Blocked: true,
		Parents: map[conditions.Condition]int{{Type: "Ready", Reason: "Ready"}: 7, {Type: "Stalled", Reason: "Contested"}: 1},
	}
}

func TestFigures(t *testing.T) {
	t.Parallel()
	r, stats := manager.NewRegistry("v1"), engine.Stats{
		Rules: []engine.RuleStats{rule("web"), {Summary: rule("gone").Summary, Removed: true, Waits: true}, {Summary: rule("going").Summary, Removed: true}},
		Informers: []watch.Stats{
			{Resource: schema.GroupResource{Group: "apps", Resource: "deployments"}, Synced: true, Objects: 2, Bytes: 100, Lag: time.Second},
			{Resource: schema.GroupResource{Group: "apps", Resource: "deployments"}, Synced: true, Failing: true, Objects: 1, Bytes: 10},
			{Resource: schema.GroupResource{Resource: "secrets"}},
		},
	}
	r.Observe(func() engine.Stats { return stats })
	r.Reconciled("home/web", telemetry.Reconcile{Verdict: "settled", Took: time.Millisecond, Cost: 40})
	r.Reconciled("home/web", telemetry.Reconcile{Verdict: "settled", Took: time.Millisecond, Writes: 1, Cost: 2, Exceeded: "max-list-length"})
	r.Wrote("home/web", telemetry.Write{Resource: "deployments.apps", Verb: telemetry.Apply, Result: telemetry.Success})
	r.Wrote("", telemetry.Write{Resource: "configmaps", Verb: telemetry.Create, Result: "Forbidden"})
	got := scrape(t, r)
	for _, want := range []string{
		`kanon_reconcile_duration_seconds_count{rule="home/web",verdict="settled"} 2`,
		`kanon_reconciles_without_write_total{rule="home/web"} 1`,
		`kanon_evaluation_cost_total{rule="home/web"} 42`,
		`kanon_evaluation_limit_exceeded_total{limit="max-list-length",rule="home/web"} 1`,
		`kanon_writes_total{resource="deployments.apps",result="Success",rule="home/web",verb="apply"} 1`,
		`kanon_writes_total{resource="configmaps",result="Forbidden",rule="",verb="create"} 1`,
		`kanon_rule_info{revision="abc",rule="home/web"} 1`,
		`kanon_rule_running{rule="home/web"} 1`,
		`kanon_rule_ready{rule="home/web"} 0`,
		`kanon_rule_findings{rule="home/web",severity="error"} 2`,
		`kanon_rule_findings{rule="home/web",severity="warning"} 1`,
		`kanon_rule_prune_blocked{rule="home/web"} 1`,
		`kanon_rule_removal_waits{rule="home/gone"} 1`,
		`kanon_rule_removal_waits{rule="home/going"} 0`,
		`kanon_queue_length{rule="home/web"} 3`,
		`kanon_parents{condition="Ready",reason="Ready",rule="home/web"} 7`,
		`kanon_parents{condition="Stalled",reason="Contested",rule="home/web"} 1`,
		`kanon_informers{resource="deployments.apps",state="synced"} 1`,
		`kanon_informers{resource="deployments.apps",state="failing"} 1`,
		`kanon_informers{resource="secrets",state="filling"} 1`,
		`kanon_cached_objects{resource="deployments.apps"} 3`,
		`kanon_cached_bytes{resource="deployments.apps"} 110`,
		`kanon_watch_lag_seconds{resource="deployments.apps"} 1`,
	} {
		if !strings.Contains(got, want+"\n") {
			t.Errorf("there is no %s in\n%s", want, got)
		}
	}
}

// The series of a rule go with it, also those that a reconcile begins that ends later than the rule.
func TestSeriesGoWithTheirRule(t *testing.T) {
	t.Parallel()
	r := manager.NewRegistry("v1")
	stats := engine.Stats{Rules: []engine.RuleStats{rule("stays"), rule("goes")}}
	r.Observe(func() engine.Stats { return stats })
	count := func() {
		for _, name := range []string{"home/stays", "home/goes"} {
			r.Reconciled(name, telemetry.Reconcile{Verdict: "settled", Exceeded: "max-children"})
			r.Wrote(name, telemetry.Write{Resource: "secrets", Verb: telemetry.Delete, Result: telemetry.Success})
		}
	}
	has := func(name string) bool {
		scrape(t, r) // what is gone is dropped while it is scraped
		return strings.Contains(scrape(t, r), `rule="home/`+name+`"`)
	}
	count()
	if !has("goes") {
		t.Fatal("nothing was counted")
	}
	stats.Rules[1] = engine.RuleStats{Summary: stats.Rules[1].Summary, Removed: true}
	if got := scrape(t, r); !strings.Contains(got, `kanon_writes_total{resource="secrets",result="Success",rule="home/goes"`) || strings.Contains(got, `kanon_rule_ready{rule="home/goes"`) {
		t.Errorf("while it is cleaned up after, there is:\n%s", got)
	}
	for range 2 {
		stats.Rules = []engine.RuleStats{rule("stays")}
		if has("goes") || !has("stays") {
			t.Errorf("after the end of a rule there is:\n%s", scrape(t, r))
		}
		count()
	}
}

func BenchmarkCounts(b *testing.B) {
	r := manager.NewRegistry("v1")
	b.RunParallel(func(pb *testing.PB) {
		for pb.Next() {
			r.Wrote("home/web", telemetry.Write{Resource: "deployments.apps", Verb: telemetry.Apply, Result: telemetry.Success})
			r.Reconciled("home/web", telemetry.Reconcile{Verdict: "settled", Took: time.Millisecond, Cost: 40})
		}
	})
}
