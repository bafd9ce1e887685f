package live

import (
	"testing"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/dynamic"
	"k8s.io/client-go/kubernetes"

	"kanon.dev/kanon/engine/source"
	"kanon.dev/kanon/internal/controlplanetest"
)

// Two people who confirm two rules of one ConfigMap at the same time both have their say.
func TestConfirmPruneBesideAnother(t *testing.T) {
	t.Parallel()
	config := controlplanetest.Config(t)
	namespace := controlplanetest.Namespace(t, config)
	client, configMaps := dynamic.NewForConfigOrDie(config), kubernetes.NewForConfigOrDie(config).CoreV1().ConfigMaps(namespace)
	rule := func(name string) string {
		return "apiVersion: kanon.dev/v1alpha1\nkind: Rule\nmetadata: {name: " + name + "}\nspec:\n  parent: {apiVersion: apps/v1, kind: Deployment}\n"
	}
	_, err := configMaps.Create(t.Context(), &corev1.ConfigMap{
		ObjectMeta: metav1.ObjectMeta{
			Name: "rules", Labels: map[string]string{source.LabelRules: "true"},
			Annotations: map[string]string{source.AnnotationConfirmPrune: "0123456789abcdef"}, // of no rule that is there
		},
		Data: map[string]string{"web.yaml": rule("web"), "db.yaml": rule("db")},
	}, metav1.CreateOptions{})
	if err != nil {
		t.Fatal(err)
	}
	rules, err := ListRules(t.Context(), client, namespace)
	if err != nil {
		t.Fatal(err)
	}
	want := ""
	for _, rule := range rules.All { // all as they were before any of these changes
		rule.PruneHeld = &PruneBlock{Revision: rule.Revision()}
		if _, err := (Desk{Client: client, Namespace: namespace}).ConfirmPrune(t.Context(), rules, rule); err != nil {
			t.Fatal(err)
		}
		if want != "" {
			want += ","
		}
		want += rule.Revision()
	}
	after, err := configMaps.Get(t.Context(), "rules", metav1.GetOptions{})
	if err != nil {
		t.Fatal(err)
	}
	if got := after.Annotations[source.AnnotationConfirmPrune]; got != want || len(rules.All) != 2 {
		t.Errorf("confirmed are %q, want %q", got, want)
	}
}
