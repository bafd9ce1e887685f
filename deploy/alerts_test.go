package deploy_test

import (
	"encoding/json"
	"os"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/prometheus/prometheus/model/labels"
	"github.com/prometheus/prometheus/promql/parser"
	"sigs.k8s.io/yaml"
)

// nameLabel is the label with the name of a metric.
const nameLabel = "__name__"

// others are metrics that Kanon serves and that are not its own.
const others = `^(up|leader_election_master_status|rest_client_requests_total|rest_client_request_duration_seconds|workqueue_depth|workqueue_queue_duration_seconds|process_resident_memory_bytes|process_cpu_seconds_total|go_goroutines)$`

// checkQuery parses a query, and checks that there are the metrics that it names with the labels that it selects by.
func checkQuery(t *testing.T, where, query string) {
	t.Helper()
	expression, err := parser.NewParser(parser.Options{}).ParseExpr(query)
	if err != nil {
		t.Errorf("%s: %v in %s", where, err, query)
		return
	}
	documented := documentedLabels(t)
	for _, matchers := range parser.ExtractSelectors(expression) {
		name := matchers[slices.IndexFunc(matchers, func(m *labels.Matcher) bool { return m.Name == nameLabel })].Value
		for _, suffix := range []string{"_bucket", "_count", "_sum"} {
			name = strings.TrimSuffix(name, suffix)
		}
		own, known := documented[name]
		if !known && !regexp.MustCompile(others).MatchString(name) {
			t.Errorf("%s names %s, which Kanon does not serve", where, name)
		}
		for _, m := range matchers {
			if known && m.Name != nameLabel && m.Name != "le" && !slices.Contains(own, m.Name) {
				t.Errorf("%s selects %s by %s, which it does not have", where, name, m.Name)
			}
		}
	}
}

// documentedLabels are the labels of Kanon's own metrics. A test of package manager compares the page with what it serves.
func documentedLabels(t *testing.T) map[string][]string {
	t.Helper()
	page, err := os.ReadFile("../docs/reference/metrics.md")
	if err != nil {
		t.Fatal(err)
	}
	all := make(map[string][]string)
	row := regexp.MustCompile("(?m)^\\| `(kanon_\\w+)` \\| (?:gauge|counter|histogram) \\| (.*) \\| .* \\|$")
	for _, cells := range row.FindAllStringSubmatch(string(page), -1) {
		all[cells[1]] = strings.Split(strings.ReplaceAll(cells[2], "`", ""), ", ")
	}
	return all
}

// Each alert can be evaluated, and a section of the documentation says what to do.
func TestAlerts(t *testing.T) {
	page, err := os.ReadFile("../docs/operations.md")
	if err != nil {
		t.Fatal(err)
	}
	text, err := os.ReadFile("components/monitoring/alerts.yaml")
	if err != nil {
		t.Fatal(err)
	}
	var rule struct {
		Spec struct {
			Groups []struct {
				Rules []struct {
					Alert, Expr, For    string
					Labels, Annotations map[string]string
				}
			}
		}
	}
	if err := yaml.Unmarshal(text, &rule); err != nil {
		t.Fatal(err)
	}
	documented := regexp.MustCompile(`(?m)^### (Kanon\w+)$`).FindAllStringSubmatch(string(page), -1)
	var named []string
	for _, alert := range rule.Spec.Groups[0].Rules {
		named = append(named, alert.Alert)
		checkQuery(t, alert.Alert, alert.Expr)
		if want := "docs/operations.md#" + strings.ToLower(alert.Alert); alert.Annotations["runbook_url"] != want || alert.Annotations["summary"] == "" {
			t.Errorf("%s: the annotations are %v, want the runbook %s", alert.Alert, alert.Annotations, want)
		}
		if alert.For == "" || alert.Labels["severity"] == "" {
			t.Errorf("%s has no duration or severity", alert.Alert)
		}
	}
	if len(named) < 10 {
		t.Errorf("found %d alerts", len(named))
	}
	for _, name := range named { // in this order, as somebody reads them who was woken
		section := string(page)[strings.Index(string(page), "\n### "+name+"\n")+1:]
		section, _, _ = strings.Cut(section, "\n##")
		if !regexp.MustCompile(`(?s)\*\*What it means\.\*\*.*\*\*How to see it\.\*\*.*\*\*What to do\.\*\*`).MatchString(section) {
			t.Errorf("the runbook of %s does not say what it means, how to see it and what to do", name)
		}
	}
	var sections []string
	for _, section := range documented {
		sections = append(sections, section[1])
	}
	if !slices.Equal(named, sections) {
		t.Errorf("the alerts are %v, and documented are %v", named, sections)
	}
}

// Kanon serves each of its metrics that the pages for whoever is on call name.
func TestMetricsInPages(t *testing.T) {
	for _, path := range []string{"../docs/operations.md", "../docs/troubleshooting.md"} {
		page, err := os.ReadFile(path)
		if err != nil {
			t.Fatal(err)
		}
		named := regexp.MustCompile(`\bkanon_[a-z_]+`).FindAllString(string(page), -1)
		if len(named) < 5 {
			t.Errorf("%s names %d metrics", path, len(named))
		}
		for _, name := range named {
			checkQuery(t, path, name)
		}
	}
}

// Each query of the dashboard can be evaluated.
func TestDashboard(t *testing.T) {
	text, err := os.ReadFile("dashboard.json")
	if err != nil {
		t.Fatal(err)
	}
	var dashboard struct {
		Panels []struct {
			Title   string
			Targets []struct{ Expr string }
		}
	}
	if err := json.Unmarshal(text, &dashboard); err != nil {
		t.Fatal(err)
	}
	queries := 0
	for _, panel := range dashboard.Panels {
		for _, target := range panel.Targets {
			queries++
			checkQuery(t, panel.Title, strings.ReplaceAll(target.Expr, "$__rate_interval", "5m"))
		}
	}
	if queries < 10 {
		t.Errorf("found %d queries", queries)
	}
}
