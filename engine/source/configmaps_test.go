package source_test

import (
	"context"
	"os"
	"strings"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/dynamic"
	"k8s.io/client-go/kubernetes"

	"kanon.dev/kanon/engine/source"
	"kanon.dev/kanon/internal/controlplanetest"
)

func TestMain(m *testing.M) { os.Exit(controlplanetest.Main(m)) }

func TestConfigMapsAreFollowedAndReportedTo(t *testing.T) {
	config := controlplanetest.Config(t)
	namespace := controlplanetest.Namespace(t, config)
	client := kubernetes.NewForConfigOrDie(config).CoreV1().ConfigMaps(namespace)
	src := source.NewConfigMaps(dynamic.NewForConfigOrDie(config), namespace)
	ctx, cancel := context.WithCancel(t.Context())
	snapshots := make(chan source.Snapshot, 16)
	done := make(chan error, 1)
	go func() { done <- src.Run(ctx, func(s source.Snapshot) { snapshots <- s }) }()
	defer func() {
		cancel()
		if err := <-done; err != nil {
			t.Errorf("Run: %v", err)
		}
	}()
	next := func() source.Snapshot {
		t.Helper()
		select {
		case s := <-snapshots:
			return s
		case <-time.After(20 * time.Second):
			t.Fatal("no snapshot")
			return source.Snapshot{}
		}
	}
	if s := next(); len(s.Bundles) != 0 {
		t.Errorf("an empty namespace has %d origins", len(s.Bundles))
	}

	create := func(name string, labels map[string]string) *corev1.ConfigMap {
		t.Helper()
		made, err := client.Create(t.Context(), &corev1.ConfigMap{
			ObjectMeta: metav1.ObjectMeta{Name: name, Labels: labels},
			Data:       map[string]string{"b.yml": "b", "a.yaml": "a", "README": "no document"},
		}, metav1.CreateOptions{})
		if err != nil {
			t.Fatal(err)
		}
		return made
	}
	create("unlabelled", nil)
	made := create("rules", map[string]string{source.LabelRules: "true"})
	s := next()
	if len(s.Bundles) != 1 || len(s.Bundles[0].Texts) != 2 {
		t.Fatalf("the snapshot is %+v, want one origin with two texts", s)
	}
	origin := s.Bundles[0].Origin
	if want := (types.NamespacedName{Namespace: namespace, Name: "rules"}); origin.ConfigMap != want || origin.UID != made.UID {
		t.Errorf("the origin is %+v", origin)
	}
	if name, want := s.Bundles[0].Texts[0].Name, "configmap/"+namespace+"/rules/a.yaml"; name != want {
		t.Errorf("the first text is called %q, want %q", name, want)
	}

	report := source.Report{Ready: true, Message: "rules in force: 1", Rules: []source.RuleReport{{Name: "x", Ready: true, Message: "running"}}}
	changed, err := src.Report(t.Context(), origin, report)
	if err != nil || !changed {
		t.Fatalf("Report: changed %t, %v", changed, err)
	}
	live, err := client.Get(t.Context(), "rules", metav1.GetOptions{})
	if err != nil {
		t.Fatal(err)
	}
	const want = `{"ready":true,"message":"rules in force: 1","rules":[{"name":"x","ready":true,"message":"running"}]}`
	if got := live.Annotations[source.AnnotationStatus]; got != want {
		t.Errorf("the annotation is %s, want %s", got, want)
	}

	if s := next(); len(s.Bundles) != 1 || s.Bundles[0].Verdict != want || !s.Bundles[0].Created.Equal(made.CreationTimestamp.Time) {
		t.Errorf("after the report the snapshot is %+v", s)
	}
	// Somebody takes the verdict away: that is news, too.
	live.Annotations = nil
	if _, err := client.Update(t.Context(), live, metav1.UpdateOptions{}); err != nil {
		t.Fatal(err)
	}
	if s := next(); len(s.Bundles) != 1 || s.Bundles[0].Verdict != "" {
		t.Errorf("without the verdict the snapshot is %+v", s)
	}

	if err := client.Delete(t.Context(), "rules", metav1.DeleteOptions{}); err != nil {
		t.Fatal(err)
	}
	if s := next(); len(s.Bundles) != 0 {
		t.Errorf("after the deletion there are %d origins", len(s.Bundles))
	}
	if changed, err := src.Report(t.Context(), origin, source.Report{Message: "too late"}); err != nil || changed {
		t.Errorf("a report on a ConfigMap that is gone: changed %t, %v", changed, err)
	}
	successor := create("rules", map[string]string{source.LabelRules: "true"})
	next()
	if changed, err := src.Report(t.Context(), origin, source.Report{Message: "for the one before"}); err != nil || changed {
		t.Errorf("a report on a ConfigMap that was replaced: changed %t, %v", changed, err)
	}
	if live, err := client.Get(t.Context(), successor.Name, metav1.GetOptions{}); err != nil || strings.Contains(live.Annotations[source.AnnotationStatus], "before") {
		t.Errorf("the successor's annotation is %q, %v", live.Annotations[source.AnnotationStatus], err)
	}
}
