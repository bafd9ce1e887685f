package main

import (
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"kanon.dev/kanon/internal/controlplanetest"
	"kanon.dev/kanon/internal/kanontest"
)

// takeoverParents is how many parents there are in BenchmarkTakeover, and takeoverLease how long its Lease lasts, as by default.
const (
	takeoverParents = 5_000
	takeoverLease   = 15 * time.Second
)

// BenchmarkTakeover kills the Kanon that leads, and measures how long it takes until another one leads, how much later it has compared all
// parents, and how many writes that took. It leads within the time that the Lease lasts and one second.
//
//	go test ./cmd/kanon -run '^$' -bench Takeover -benchtime 1x
func BenchmarkTakeover(b *testing.B) {
	plane := controlplanetest.Start(b, controlplanetest.Options{Controllers: []string{"namespace"}})
	namespace := controlplanetest.Namespace(b, plane.Config)
	cluster := kanontest.NewCluster(b, plane.Config).In(b, namespace)
	rule := filepath.Join(b.TempDir(), "rule.yaml")
	if err := os.WriteFile(rule, []byte(standbyRule), 0o600); err != nil {
		b.Fatal(err)
	}
	start := func() *kanontest.Process {
		return startStandby(b, "--kubeconfig", plane.Kubeconfig, "--kanon-namespace", namespace, "--rules", rule,
			"--metrics-bind-address=127.0.0.1:0", "--metrics-secure=false",
			"--leader-elect-lease-duration="+takeoverLease.String(), "--leader-elect-renew-deadline=10s", "--leader-elect-retry-period=2s")
	}
	leads := start()
	awaitLine(b, leads, "This Kanon leads")
	var creating sync.WaitGroup
	for worker := range 8 {
		creating.Go(func() {
			for i := worker; i < takeoverParents; i += 8 {
				cluster.Apply(kanontest.Object(b, fmt.Sprintf("{apiVersion: v1, kind: ConfigMap, metadata: {name: p%d, labels: {script: standby}}, data: {value: one}}", i)))
			}
		})
	}
	creating.Wait()
	for i := range takeoverParents {
		cluster.Await(kanontest.Ref("v1", "ConfigMap", fmt.Sprintf("p%d-child", i)), func(*unstructured.Unstructured) error { return nil })
	}
	var lead, compare, writes float64
	for b.Loop() {
		next := start()
		awaitLine(b, next, "Another Kanon leads; this one stands by")
		awaitReady(b, next)
		killed := time.Now()
		if err := leads.Signal(syscall.SIGKILL); err != nil {
			b.Fatal(err)
		}
		awaitLine(b, next, "This Kanon leads")
		led := time.Now()
		for figure(b, next, "kanon_reconcile_duration_seconds_count") < takeoverParents {
			continue
		}
		lead, compare = lead+led.Sub(killed).Seconds(), compare+time.Since(led).Seconds()
		writes += figure(b, next, "kanon_writes_total")
		leads = next
	}
	b.ReportMetric(lead/float64(b.N), "s-to-lead/op")
	b.ReportMetric(compare/float64(b.N), "s-to-compare-all/op")
	b.ReportMetric(writes/float64(b.N), "writes/op")
	b.ReportMetric(0, "ns/op")
}

// figure adds up the series of a metric that are about rules.
func figure(tb testing.TB, kanon *kanontest.Process, metric string) (sum float64) {
	tb.Helper()
	_, text := kanon.Fetch(tb, "metrics", "/metrics", "")
	for _, match := range regexp.MustCompile(`(?m)^`+metric+`\{(.*)\} (\S+)$`).FindAllStringSubmatch(text, -1) {
		value, err := strconv.ParseFloat(match[2], 64)
		if err != nil {
			tb.Fatal(err)
		}
		if !strings.Contains(match[1], `rule=""`) {
			sum += value
		}
	}
	return sum
}
