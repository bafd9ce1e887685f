package cli

import (
	"testing"

	"github.com/spf13/cobra"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/restmapper"
)

func TestParseObject(t *testing.T) {
	t.Parallel()
	for name, tc := range map[string]struct {
		args []string
		want ObjectArg
		rest int
		err  string
	}{
		"kind and name":       {args: []string{"deploy", "web"}, want: ObjectArg{"deploy", "web"}},
		"in one":              {args: []string{"deploy/web"}, want: ObjectArg{"deploy", "web"}},
		"with more":           {args: []string{"deploy", "web", "spec.replicas"}, want: ObjectArg{"deploy", "web"}, rest: 1},
		"in one with more":    {args: []string{"deploy/web", "spec.replicas"}, want: ObjectArg{"deploy", "web"}, rest: 1},
		"nothing":             {err: "name an object, as KIND NAME or KIND/NAME; see 'trace --help'"},
		"a kind alone":        {args: []string{"deploy"}, err: "name an object of kind deploy, as KIND NAME or KIND/NAME; see 'trace --help'"},
		"no name":             {args: []string{"deploy/"}, err: `"deploy/" names no object: it is KIND NAME or KIND/NAME; see 'trace --help'`},
		"two slashes":         {args: []string{"deploy/shop/web"}, err: `"deploy/shop/web" names no object: it is KIND NAME or KIND/NAME; see 'trace --help'`},
		"a name with a slash": {args: []string{"deploy", "shop/web"}, err: `"deploy shop/web" names no object: it is KIND NAME or KIND/NAME; see 'trace --help'`},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			got, rest, err := ParseObject(&cobra.Command{Use: "trace"}, tc.args)
			if err != nil || tc.err != "" {
				if err == nil || err.Error() != tc.err || !IsUsage(err) {
					t.Errorf("the error is %v, want %s", err, tc.err)
				}
				return
			}
			if got != tc.want || len(rest) != tc.rest {
				t.Errorf("got %v and %v, want %v and %d more", got, rest, tc.want, tc.rest)
			}
		})
	}
}

// Kinds by all the names that kubectl takes. Short names are in cmd/kanon/testdata/script/trace.txtar: only a cluster knows them.
func TestMappingOf(t *testing.T) {
	t.Parallel()
	group := func(name, version string, resources ...metav1.APIResource) *restmapper.APIGroupResources {
		v := metav1.GroupVersionForDiscovery{GroupVersion: name + "/" + version, Version: version}
		return &restmapper.APIGroupResources{
			Group:              metav1.APIGroup{Name: name, Versions: []metav1.GroupVersionForDiscovery{v}, PreferredVersion: v},
			VersionedResources: map[string][]metav1.APIResource{version: resources},
		}
	}
	mapper := restmapper.NewDiscoveryRESTMapper([]*restmapper.APIGroupResources{
		group("apps", "v1", metav1.APIResource{Name: "deployments", SingularName: "deployment", Kind: "Deployment", Namespaced: true}),
		group("shop.example.com", "v1", metav1.APIResource{Name: "webapps", SingularName: "webapp", Kind: "WebApp", Namespaced: true}),
	})
	for arg, want := range map[string]string{
		"deployments": "Deployment", "deployment": "Deployment", "Deployment": "Deployment", "deployments.apps": "Deployment",
		"deployment.v1.apps": "Deployment", "WebApp": "WebApp", "webapp.shop.example.com": "WebApp", "WebApp.v1.shop.example.com": "WebApp",
		"webapp.other.example.com": "", "things": "",
	} {
		t.Run(arg, func(t *testing.T) {
			t.Parallel()
			got, err := mappingOf(mapper, arg)
			switch {
			case want == "" && !meta.IsNoMatchError(err):
				t.Errorf("got %v, %v, want no match", got, err)
			case want != "" && (err != nil || got.GroupVersionKind.Kind != want):
				t.Errorf("got %v, %v, want %s", got, err, want)
			}
		})
	}
}
