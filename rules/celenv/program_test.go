package celenv

import (
	"context"
	"errors"
	"testing"
	"time"

	"github.com/google/cel-go/interpreter"
	"github.com/google/go-cmp/cmp"
)

func testVars() map[string]any {
	return map[string]any{
		"parent": map[string]any{
			"metadata": map[string]any{"name": "web", "labels": map[string]any{"c": "3", "a": "1", "b": "2"}},
			"spec": map[string]any{
				"no": false, "replicas": int64(3), "ratio": 1.5, "empty": nil,
				"ports": []any{int64(80), int64(443)},
				"items": []any{map[string]any{"name": "x"}, map[string]any{"name": "y", "size": int64(2)}},
			},
		},
	}
}

// eval compiles and runs an expression that reads parent.
func eval(t *testing.T, text string) (any, error) {
	t.Helper()
	env, err := Shared()
	if err != nil {
		t.Fatal(err)
	}
	expr, issues := env.Compile(text, Scope{"parent"})
	if len(issues) > 0 {
		t.Fatalf("compile %s: %v", text, issues)
	}
	prog, issues := NewProgram(expr, Options{})
	if len(issues) > 0 {
		t.Fatalf("plan %s: %v", text, issues)
	}
	vars, err := interpreter.NewActivation(testVars())
	if err != nil {
		t.Fatal(err)
	}
	val, err := prog.Eval(t.Context(), vars)
	if err != nil {
		return nil, err
	}
	return ToJSON(val)
}

func TestEval(t *testing.T) {
	t.Parallel()
	for name, test := range map[string]struct {
		expr string
		want any
	}{
		"field":                    {`parent.metadata.name`, "web"},
		"index":                    {`parent.spec.ports[1]`, int64(443)},
		"index by expression":      {`parent.spec.ports[size(parent.spec.ports) - 1]`, int64(443)},
		"index by path":            {`parent.metadata.labels[parent.spec.items.size() == 2 ? "a" : "b"]`, "1"},
		"index of a path by a key": {`{"web": 5}[parent.metadata.name]`, int64(5)},
		"int times double":         {`parent.spec.replicas * parent.spec.ratio`, 4.5},
		"literals mix":             {`1 + 1.5`, 2.5},
		"double minus int":         {`2.5 - 1`, 1.5},
		"int and int stay int":     {`parent.spec.replicas / 2`, int64(1)},
		"compare int with double":  {`parent.spec.replicas > 2.5`, true},
		"mixed list":               {`[1, "a", true, 2.5]`, []any{int64(1), "a", true, 2.5}},
		"mixed map":                {`{"a": 1, "b": "x"}`, map[string]any{"a": int64(1), "b": "x"}},
		"map in key order":         {`parent.metadata.labels.map(k, k + parent.metadata.labels[k])`, []any{"a1", "b2", "c3"}},
		"literal map in key order": {`{"z": 1, "a": 2, "m": parent.spec.replicas}.map(k, k)`, []any{"a", "m", "z"}},
		"two variables, in order":  {`parent.metadata.labels.transformList(k, v, k + v)`, []any{"a1", "b2", "c3"}},
		"made map in key order":    {`parent.metadata.labels.transformMap(k, v, v + k).transformList(k, v, v)`, []any{"1a", "2b", "3c"}},
		"optional chain":           {`parent.?spec.?nothing.?x.orValue(7)`, int64(7)},
		"optional there":           {`parent.spec.?replicas.orValue(7)`, int64(3)},
		"or":                       {`parent.spec.?nothing.or(parent.spec.?replicas).orValue(0)`, int64(3)},
		"orValue is lazy":          {`parent.spec.?replicas.orValue(parent.spec.nothing)`, int64(3)},
		"optional index":           {`parent.spec.ports[?5].orValue(0)`, int64(0)},
		"optional entry":           {`{"a": 1, ?"b": parent.spec.?nothing}`, map[string]any{"a": int64(1)}},
		"optional field is none":   {`{"a": parent.spec.?nothing, "b": [parent.spec.?nothing, 1]}`, map[string]any{"b": []any{int64(1)}}},
		"null field":               {`{"a": null, "b": 1}`, map[string]any{"b": int64(1)}},
		"null":                     {`parent.spec.empty`, nil},
		"has":                      {`[has(parent.spec.replicas), has(parent.spec.nothing)]`, []any{true, false}},
		"filter":                   {`parent.spec.items.filter(i, i.?size.orValue(0) > 1).map(i, i.name)`, []any{"y"}},
		"bind":                     {`cel.bind(x, parent.spec.replicas, x * x)`, int64(9)},
		"lists of maps":            {`parent.spec.items.map(i, i.name).join("-")`, "x-y"},
		"concatenation":            {`parent.spec.ports + [1]`, []any{int64(80), int64(443), int64(1)}},
		"in a list":                {`443 in parent.spec.ports`, true},
		"in a map":                 {`"a" in parent.metadata.labels`, true},
		"equality of maps":         {`parent.metadata.labels == {"a": "1", "b": "2", "c": "3"}`, true},
		"absorption, left":         {`parent.spec.nothing == 1 || true`, true},
		"absorption, right":        {`false && parent.spec.nothing == 1`, false},
		"timestamp":                {`timestamp("2026-01-02T03:04:05Z")`, "2026-01-02T03:04:05Z"},
		"duration":                 {`duration("90s")`, "90s"},
		"bytes":                    {`b"abc"`, "YWJj"},
		"strings":                  {`"a,b".split(",")`, []any{"a", "b"}},
		"format":                   {`"%s-%d".format([parent.metadata.name, parent.spec.replicas])`, "web-3"},
		"sets":                     {`sets.contains([1, 2], [2])`, true},
		"math":                     {`math.greatest(1, 2.5)`, 2.5},
		"base64":                   {`base64.encode(b"abc")`, "YWJj"},
		"bytes that are added to":  {`[b"y", b"z"].map(b, string(bytes("#") + b)).join()`, "#y#z"},
		"quantity":                 {`quantity("1Gi").isGreaterThan(quantity("1M"))`, true},
		"url":                      {`url("https://a.b/c").getHost()`, "a.b"},
		"ip":                       {`ip("10.0.0.1").family()`, int64(4)},
		"cidr":                     {`cidr("10.0.0.0/8").containsIP("10.1.1.1")`, true},
		"semver":                   {`semver("1.2.3").major()`, int64(1)},
		"regex":                    {`"abc123".find("[0-9]+")`, "123"},
		"named format":             {`format.dns1123Label().validate("Bad").hasValue()`, true},
		"sort":                     {`["b", "a"].sort()`, []any{"a", "b"}},
		"sum":                      {`parent.spec.ports.sum()`, int64(523)},
		"escaped field":            {"parent.metadata.labels.`a`", "1"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			got, err := eval(t, test.expr)
			if err != nil {
				t.Fatalf("%s: %v", test.expr, err)
			}
			if diff := cmp.Diff(test.want, got); diff != "" {
				t.Errorf("%s (-want +got):\n%s", test.expr, diff)
			}
		})
	}
}

func TestReadErrors(t *testing.T) {
	t.Parallel()
	for name, test := range map[string]struct {
		expr   string
		reason Reason
		source string // of the node that failed
	}{
		"missing key":          {`parent.spec.nothing`, ReasonMissing, `parent.spec.nothing`},
		"missing in between":   {`parent.status.a.b.c`, ReasonMissing, `parent.status`},
		"below null":           {`parent.spec.empty.x`, ReasonMissing, `parent.spec.empty.x`},
		"index":                {`parent.spec.ports[2] + 1`, ReasonIndex, `parent.spec.ports[2]`},
		"computed index":       {`parent.spec.ports[1 + 1]`, ReasonIndex, `parent.spec.ports[1 + 1]`},
		"path as index":        {`parent.spec.ports[parent.spec.replicas]`, ReasonIndex, `parent.spec.ports[parent.spec.replicas]`},
		"missing inside index": {`parent.spec.ports[parent.spec.nothing]`, ReasonMissing, `parent.spec.nothing`},
		"field of a number":    {`parent.spec.replicas.x`, ReasonType, `parent.spec.replicas.x`},
		"text into a list":     {`parent.spec.ports["a"]`, ReasonType, `parent.spec.ports["a"]`},
		"in a loop":            {`parent.spec.items.map(i, i.size)`, ReasonMissing, `i.size`},
		"of a function":        {`parent.spec.items.filter(i, false)[0].name`, ReasonIndex, `parent.spec.items.filter(i, false)[0]`},
		"of a conditional":     {`(parent.spec.replicas > 1 ? parent.spec : parent.metadata).nope`, ReasonMissing, `((parent.spec.replicas > 1) ? parent.spec : parent.metadata).nope`},
		"of a map literal":     {`{"a": parent.spec.replicas}.b`, ReasonMissing, `{"a": parent.spec.replicas}.b`},
		"both sides of or":     {`parent.spec.nothing == 1 || parent.spec.nix == 1`, ReasonMissing, `parent.spec.nothing`},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			_, err := eval(t, test.expr)
			var read *ReadError
			if !errors.As(err, &read) {
				t.Fatalf("%s: got %v, want a *ReadError", test.expr, err)
			}
			if read.Reason != test.reason {
				t.Errorf("reason %d, want %d (%v)", read.Reason, test.reason, err)
			}
			env, err := Shared()
			if err != nil {
				t.Fatal(err)
			}
			expr, _ := env.Compile(test.expr, Scope{"parent"})
			if got := nodeSource(expr, read.NodeID); got != test.source {
				t.Errorf("failed at %s, want %s", got, test.source)
			}
		})
	}
}

func nodeSource(x *Expression, id int64) string {
	for _, e := range x.Nodes() {
		if e.ID() == id {
			return x.Source(e)
		}
	}
	return ""
}

func TestCostLimit(t *testing.T) {
	t.Parallel()
	for _, expr := range []string{
		`lists.range(3000).all(x, lists.range(3000).all(y, x + y >= 0))`,
		`lists.range(3000).filter(x, lists.range(3000).filter(y, parent.spec.no) == [])`,
		`lists.range(100000).map(x, parent.metadata.name + "0123456789012345678901234567890123456789" + "0123456789")`,
		`lists.range(20).map(x, lists.range(90000))`,
		`lists.range(3000).map(x, lists.range(3000).map(y, false || parent.spec.no))`,
	} {
		if _, err := eval(t, expr); !errors.Is(err, ErrCostLimit) {
			t.Errorf("%s: got %v, want ErrCostLimit", expr, err)
		}
	}
}

func TestInterrupted(t *testing.T) {
	t.Parallel()
	env, err := Shared()
	if err != nil {
		t.Fatal(err)
	}
	expr, issues := env.Compile(`lists.range(90000).all(x, lists.range(1000).all(y, x + y >= 0))`, nil)
	if len(issues) > 0 {
		t.Fatal(issues)
	}
	prog, issues := NewProgram(expr, Options{CostLimit: 1 << 60})
	if len(issues) > 0 {
		t.Fatal(issues)
	}
	ctx, cancel := context.WithTimeout(t.Context(), 20*time.Millisecond)
	defer cancel()
	_, err = prog.Eval(ctx, interpreter.EmptyActivation())
	if !errors.Is(err, ErrInterrupted) || !errors.Is(err, context.DeadlineExceeded) {
		t.Fatalf("got %v, want ErrInterrupted and its cause", err)
	}
}

func TestIssues(t *testing.T) {
	t.Parallel()
	env, err := Shared()
	if err != nil {
		t.Fatal(err)
	}
	for name, test := range map[string]struct {
		expr   string
		offset int
	}{
		"syntax":           {`parent.spec +`, 13},
		"unknown name":     {`1 + parnt.spec`, 4},
		"unknown function": {"\"ü\" + nope(1)", 12 - 1},
		"second line":      {"1 +\n  nope", 6},
		"types":            {`1 + "a"`, 2},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			expr, issues := env.Compile(test.expr, Scope{"parent"})
			if len(issues) == 0 {
				_, issues = NewProgram(expr, Options{})
			}
			if len(issues) == 0 {
				t.Fatalf("%s compiles", test.expr)
			}
			if issues[0].Offset != test.offset {
				t.Errorf("offset %d, want %d: %s", issues[0].Offset, test.offset, issues[0].Message)
			}
		})
	}
}
