package plane

import (
	"testing"

	"github.com/google/go-cmp/cmp"
)

func TestParseMetrics(t *testing.T) {
	const metrics = `# HELP apiserver_flowcontrol_dispatched_requests_total [BETA] Number of requests
# TYPE apiserver_flowcontrol_dispatched_requests_total counter
apiserver_flowcontrol_dispatched_requests_total{flow_schema="exempt",priority_level="exempt"} 4711
apiserver_flowcontrol_dispatched_requests_total{flow_schema="kanonbench-create-configmaps",priority_level="exempt"} 1000
apiserver_flowcontrol_dispatched_requests_total{flow_schema="kanonbench-patch-apps.status",priority_level="exempt"} 1.2e+03
apiserver_flowcontrol_dispatched_requests_total{flow_schema="kanonbench-get-no-resource",priority_level="exempt"} 7
apiserver_request_total{verb="GET",resource="pods"} 5
# TYPE go_memstats_alloc_bytes_total counter
go_memstats_alloc_bytes_total 5.5e+09
`
	got, err := parseMetrics([]byte(metrics))
	if err != nil {
		t.Fatal(err)
	}
	want := Metrics{
		Counts:    Counts{{"create", "configmaps"}: 1000, {"patch", "apps/status"}: 1200, {"get", NonResources}: 7},
		Allocated: 5.5e9,
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("metrics (-want +got):\n%s", diff)
	}
	if _, err := parseMetrics([]byte(metric + "{flow_schema=\n")); err == nil {
		t.Error("a broken line was read")
	}
}

func TestCounts(t *testing.T) {
	before := Counts{{"create", "configmaps"}: 2, {"list", "apps"}: 1}
	after := Counts{{"create", "configmaps"}: 5, {"list", "apps"}: 1, {"watch", "apps"}: 1, {"patch", "apps/status"}: 3}
	got := after.Sub(before)
	want := Counts{{"create", "configmaps"}: 3, {"watch", "apps"}: 1, {"patch", "apps/status"}: 3}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("difference (-want +got):\n%s", diff)
	}
	if got.Writes() != 6 || got.Reads() != 0 || got.Watches() != 1 {
		t.Errorf("%d writes, %d reads and %d watches, want 6, 0 and 1", got.Writes(), got.Reads(), got.Watches())
	}
}

// Every FlowSchema that is made must be understood when it is counted.
func TestNamesOfFlowSchemas(t *testing.T) {
	for _, verb := range verbs() {
		for _, resource := range append(resources(), OtherResources, NonResources) {
			got, ours := countOf(schemaName(verb, resource))
			if want := (Request{verb, resource}); !ours || got != want {
				t.Errorf("%s stands for %v (%t), want %v", schemaName(verb, resource), got, ours, want)
			}
		}
	}
	if _, ours := countOf("exempt"); ours {
		t.Error("the API server's own FlowSchema counts as ours")
	}
}
