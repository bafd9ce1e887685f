package live_test

import (
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/dynamic/fake"
	clienttesting "k8s.io/client-go/testing"

	"kanon.dev/kanon/author/live"
	"kanon.dev/kanon/rules/syntax"
)

// ruleOf is an installed rule r with that in its spec.
func ruleOf(t *testing.T, name, spec string) *live.Rule {
	t.Helper()
	docs, findings := syntax.Decode("rule.yaml", []byte("apiVersion: kanon.dev/v1alpha1\nkind: Rule\nmetadata: {name: "+name+"}\nspec:\n  parent: {apiVersion: v1, kind: ConfigMap}\n"+spec))
	if len(docs.Rules) != 1 {
		t.Fatal(findings)
	}
	return &live.Rule{Name: types.NamespacedName{Namespace: "kanon-system", Name: name}, Decoded: docs.Rules[0]}
}

// What an Event has of a Secret is hidden; without the right to read Secrets, what the rule says itself is.
func TestMask(t *testing.T) {
	t.Parallel()
	const events = "  events: [{when: \"${true}\", type: Normal, reason: Told, message: a}]\n"
	rules := &live.Rules{Namespace: "kanon-system", All: []*live.Rule{
		ruleOf(t, "plain", events),
		ruleOf(t, "reads", events+"  lookups: [{id: s, apiVersion: v1, kind: Secret, name: s}]\n"),
	}}
	const hidden = "(hidden): it may have the value of a Secret, and you may not list Secrets"
	for name, tc := range map[string]struct {
		rule, reason string
		forbidden    bool
		message      string
		want         string
		reads        bool
	}{
		"a rule without Secrets":             {"kanon-system/plain", "Told", false, "topsecret", "topsecret", false},
		"about a rule":                       {"", "Accepted", false, "topsecret", "topsecret", false},
		"a rule with Secrets":                {"kanon-system/reads", "Told", false, "at topsecret:1", "at (hidden):1", true},
		"a rule that is not known":           {"kanon-system/gone", "Told", false, "at topsecret:1", "at (hidden):1", true},
		"without the right, of spec.events":  {"kanon-system/reads", "Told", true, "at topsecret:1", hidden, true},
		"without the right, of Kanon itself": {"kanon-system/reads", "Deleted", true, "deleted a", "deleted a", true},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			scheme := runtime.NewScheme()
			if err := corev1.AddToScheme(scheme); err != nil {
				t.Fatal(err)
			}
			client := fake.NewSimpleDynamicClient(scheme, &corev1.Secret{ObjectMeta: metav1.ObjectMeta{Name: "s", Namespace: "shop"}, Data: map[string][]byte{"a": []byte("topsecret")}})
			if tc.forbidden {
				client.PrependReactor("list", "secrets", func(action clienttesting.Action) (bool, runtime.Object, error) {
					return true, nil, apierrors.NewForbidden(action.GetResource().GroupResource(), "", nil)
				})
			}
			mask := &live.EventMask{Client: client, Rules: rules}
			if got := mask.Hide(t.Context(), live.Event{Rule: tc.rule, Reason: tc.reason, Message: tc.message, Last: time.Now()}).Message; got != tc.want {
				t.Errorf("got %q, want %q", got, tc.want)
			}
			if read := len(client.Actions()) > 0; read != tc.reads {
				t.Errorf("Secrets are read: %t", read)
			}
		})
	}
}
