package celenv

import (
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/google/cel-go/interpreter"
	"github.com/google/go-cmp/cmp"
)

func TestOwnFunctions(t *testing.T) {
	t.Parallel()
	for name, test := range map[string]struct {
		expr string
		want any
	}{
		"merge":                        {`merge({"a": 1, "b": {"x": 1}}, {"b": {"y": 2}, "c": 3})`, map[string]any{"a": int64(1), "b": map[string]any{"y": int64(2)}, "c": int64(3)}},
		"withoutTools":                 {`withoutTools({"team": "a", "argocd.argoproj.io/tracking-id": "x", "kustomize.toolkit.fluxcd.io/name": "x", "app.kubernetes.io/instance": "x", "app.kubernetes.io/name": "y", "kanon.dev.example.com/a": "z"})`, map[string]any{"team": "a", "app.kubernetes.io/name": "y", "kanon.dev.example.com/a": "z"}},
		"merge of data":                {`merge(parent.metadata.labels, {"a": "9"})`, map[string]any{"a": "9", "b": "2", "c": "3"}},
		"merge leaves its arguments":   {`[merge(parent.metadata.labels, {"a": "9"}), parent.metadata.labels][1].a`, "1"},
		"merge in key order":           {`merge({"z": 1}, {"a": 2}, parent.metadata.labels).map(k, k)`, []any{"a", "b", "c", "z"}},
		"merge, two variables":         {`merge({"z": 1}, {"a": 2}).transformList(k, v, k + string(v))`, []any{"a2", "z1"}},
		"merge, read":                  {`merge({"z": {"y": 1}}, {"a": 2}).z.y`, int64(1)},
		"merge keeps CEL's values":     {`merge({"t": timestamp("2026-01-01T00:00:00Z")}, {}).t.getFullYear()`, int64(2026)},
		"merge renders CEL's values":   {`merge({"t": duration("90s")}, {"u": [duration("1s")]})`, map[string]any{"t": "90s", "u": []any{"1s"}}},
		"merge passes over none":       {`merge({"a": 1}, {"a": parent.spec.?nothing, "b": parent.spec.?replicas})`, map[string]any{"a": int64(1), "b": int64(3)}},
		"merge with null drops":        {`merge({"a": 1, "b": 2}, {"a": null})`, map[string]any{"b": int64(2)}},
		"merge takes optionals":        {`merge({"a": 1}, parent.?nothing.orValue({}))`, map[string]any{"a": int64(1)}},
		"merged equals":                {`merge({"a": 1}, {"b": 2}) == {"a": 1, "b": 2} && {"a": 1, "b": 2} == merge({"a": 1}, {"b": 2})`, true},
		"size of merged":               {`merge({"a": 1}, {"b": 2}).size()`, int64(2)},
		"key in merged":                {`"b" in merge({"a": 1}, {"b": 2})`, true},
		"deepMerge":                    {`deepMerge({"a": {"x": 1, "l": [1, 2]}}, {"a": {"y": 2, "l": [3]}})`, map[string]any{"a": map[string]any{"x": int64(1), "y": int64(2), "l": []any{int64(3)}}}},
		"deepMerge of data":            {`deepMerge(parent, {"metadata": {"labels": {"a": "9"}}}).metadata`, map[string]any{"name": "web", "labels": map[string]any{"a": "9", "b": "2", "c": "3"}}},
		"deepMerge leaves arguments":   {`[deepMerge(parent, {"metadata": {"labels": {"a": "9"}}}).spec.replicas, int(parent.metadata.labels.a)]`, []any{int64(3), int64(1)}},
		"deepMerge, three":             {`deepMerge({"a": {"x": 1}}, {"a": {"x": {"y": 2}}}, {"a": {"x": {"z": 3}}})`, map[string]any{"a": map[string]any{"x": map[string]any{"y": int64(2), "z": int64(3)}}}},
		"deepMerge, map and scalar":    {`deepMerge({"a": {"x": 1}}, {"a": 1})`, map[string]any{"a": int64(1)}},
		"toJson":                       {`toJson({"b": [1, 2.5, true, null, "<é>"], "a": {}})`, `{"a":{},"b":[1,2.5,true,null,"<é>"]}`},
		"toJson of data":               {`toJson(parent.spec)`, `{"empty":null,"items":[{"name":"x"},{"name":"y","size":2}],"no":false,"ports":[80,443],"ratio":1.5,"replicas":3}`},
		"toJson of merged":             {`toJson(merge({"b": timestamp("2026-01-01T00:00:00Z")}, {"a": [optional.none(), 1]}))`, `{"a":[1],"b":"2026-01-01T00:00:00Z"}`},
		"toJson of text":               {`toJson("a\"b")`, `"a\"b"`},
		"fromJson":                     {`fromJson('{"a": [1, 2.5, 9007199254740993, null, "x"]}').a`, []any{int64(1), 2.5, int64(9007199254740993), nil, "x"}},
		"fromJson keeps doubles":       {`[type(fromJson("1.0")) == double, type(fromJson("1")) == int]`, []any{true, true}},
		"fromJson of null":             {`fromJson("null") == null`, true},
		"toYaml":                       {`toYaml({"b": [1, 2.5], "a": {"x": "yes", "y": "1"}, "c": null})`, "a:\n  x: \"yes\"\n  \"y\": \"1\"\nb:\n- 1\n- 2.5\nc: null\n"},
		"fromYaml":                     {`fromYaml("a: [1, 2.5, 1.0, true, ~, x, 2026-01-01]\n2: z\n")`, map[string]any{"a": []any{int64(1), 2.5, 1.0, true, nil, "x", "2026-01-01"}, "2": "z"}},
		"fromYaml keeps doubles":       {`type(fromYaml("1.0")) == double`, true},
		"fromYaml with anchors":        {`fromYaml("a: &x {p: 1, q: 2}\nb: {<<: *x, q: 3}\nc: *x\n")`, map[string]any{"a": map[string]any{"p": int64(1), "q": int64(2)}, "b": map[string]any{"p": int64(1), "q": int64(3)}, "c": map[string]any{"p": int64(1), "q": int64(2)}}},
		"fromYaml of nothing":          {`fromYaml("") == null`, true},
		"yaml there and back":          {`fromYaml(toYaml(parent.spec)) == parent.spec`, true},
		"json there and back":          {`fromJson(toJson(parent.spec)) == parent.spec`, true},
		"sha256":                       {`sha256("abc")`, "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad"},
		"sha256 of bytes":              {`sha256(b"abc") == sha256("abc")`, true},
		"dnsName":                      {`dnsName(parent.metadata.name, "config")`, "web--config"},
		"dnsName of one":               {`dnsName("my-app")`, "my-app"},
		"dnsName of what is no label":  {`dnsName("My App", "é.x")`, "my-app-x---gglhmcmhr4fyehtjafzl"},
		"dnsName of nothing":           {`dnsName("")`, "x---xj3iwmy73bwozab34bhf"},
		"optionalIf":                   {`optionalIf(parent.spec.replicas > 1, "many").orValue("few")`, "many"},
		"optionalIf not":               {`optionalIf(parent.spec.replicas > 5, parent.spec.nothing).orValue("few")`, "few"},
		"optionalIf in a map":          {`{?"a": optionalIf(false, 1), ?"b": optionalIf(true, 2)}`, map[string]any{"b": int64(2)}},
		"kstatus":                      {`kstatus({"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "x"}})`, "Current"},
		"kstatus of a Deployment":      {`kstatus({"apiVersion": "apps/v1", "kind": "Deployment", "metadata": {"name": "x", "generation": 2}, "status": {"observedGeneration": 1}})`, "InProgress"},
		"kstatus of null":              {`kstatus(null)`, "NotFound"},
		"kstatus of what has no type":  {`kstatus(parent)`, "Current"},
		"kstatus of a null with a key": {`kstatus(parent.spec.empty)`, "NotFound"},
		"ready":                        {`ready({"apiVersion": "x/v1", "kind": "X", "metadata": {"name": "x"}, "status": {"conditions": [{"type": "Ready", "status": "True"}]}})`, true},
		"not ready":                    {`ready({"apiVersion": "x/v1", "kind": "X", "metadata": {"name": "x"}, "status": {"conditions": [{"type": "Ready", "status": "False"}]}})`, false},
		"ready of null":                {`ready(parent.spec.empty)`, false},
		"truncate":                     {`truncate(timestamp("2026-03-05T17:42:31+02:00"), duration("1h"))`, "2026-03-05T15:00:00Z"},
		"truncate to weeks":            {`truncate(timestamp("2026-03-05T17:42:31Z"), duration("168h")).getDayOfWeek()`, int64(1)},
		"cron next":                    {`cron("0 3 * * *", "Europe/Berlin").next(timestamp("2026-07-01T00:00:00Z"))`, "2026-07-01T01:00:00Z"},
		"cron next is after":           {`cron("0 3 * * *", "UTC").next(timestamp("2026-07-01T03:00:00Z"))`, "2026-07-02T03:00:00Z"},
		"cron previous":                {`cron("0 3 * * *", "UTC").previous(timestamp("2026-07-01T02:59:59Z"))`, "2026-06-30T03:00:00Z"},
		"cron previous may be now":     {`cron("0 3 * * *", "UTC").previous(timestamp("2026-07-01T03:00:00Z"))`, "2026-07-01T03:00:00Z"},
		"cron previous, a bit after":   {`cron("0 3 * * *", "UTC").previous(timestamp("2026-07-01T03:00:00.5Z"))`, "2026-07-01T03:00:00Z"},
		"cron previous, years":         {`cron("0 0 29 2 *", "UTC").previous(timestamp("2027-12-31T00:00:00Z"))`, "2024-02-29T00:00:00Z"},
		"cron between":                 {`cron("@daily", "UTC").between(timestamp("2026-07-01T00:00:00Z"), timestamp("2026-07-03T00:00:00Z"), 10)`, []any{"2026-07-02T00:00:00Z", "2026-07-03T00:00:00Z"}},
		"cron between, at most":        {`cron("* * * * *", "UTC").between(timestamp("2026-07-01T00:00:00Z"), timestamp("2026-07-03T00:00:00Z"), 1)`, []any{"2026-07-01T00:01:00Z"}},
		"cron of what is computed":     {`cron(parent.spec.no ? "" : "0 3 * * *", "UTC") == cron("0 3 * * *", "UTC")`, true},
		"cron in a skipped hour":       {`cron("30 2 * * *", "Europe/Berlin").next(timestamp("2026-03-28T12:00:00Z"))`, "2026-03-30T00:30:00Z"},
		"cron in an hour that is twice": {
			`cron("30 2 * * *", "Europe/Berlin").between(timestamp("2026-10-24T12:00:00Z"), timestamp("2026-10-25T12:00:00Z"), 5)`,
			[]any{"2026-10-25T00:30:00Z", "2026-10-25T01:30:00Z"},
		},
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

func TestOwnFunctionErrors(t *testing.T) {
	t.Parallel()
	for name, test := range map[string]struct{ expr, want string }{
		"merge with a list":       {`merge(parent.metadata, parent.spec.ports)`, "argument 2 of merge must be a map, and is a list"},
		"merge with a number key": {`merge(dyn({1: "a"}), {"a": 1})`, "merge: the keys must be strings, and one is an int"},
		"fromJson of rest":        {`fromJson("1 2")`, "fromJson: "},
		"fromJson, too deep":      {`fromJson("` + strings.Repeat("[", 15_000) + `")`, "exceeded max depth"},
		"fromJson of int":         {`fromJson(parent.spec.replicas)`, "argument 1 of fromJson must be a string, and is an int"},
		"fromYaml of two":         {`fromYaml("a\n---\nb")`, "fromYaml: more than one document"},
		"fromYaml of itself":      {`fromYaml("&a [*a]")`, "fromYaml: "},
		"fromYaml twice":          {`fromYaml("a: 1\na: 2")`, `fromYaml: line 2: duplicate field "a": it is in line 1 already`},
		"fromYaml of a tag":       {`fromYaml("!x a")`, "fromYaml: line 1: the tag !x has no meaning here"},
		"fromYaml of NaN":         {`fromYaml(".nan")`, "fromYaml: line 1: .nan is not a number that JSON has"},
		"fromYaml of many aliases": {
			`fromYaml("a: &a [x,x,x,x,x,x,x,x,x,x]\nb: &b [*a,*a,*a,*a,*a,*a,*a,*a,*a,*a]\nc: &c [*b,*b,*b,*b,*b,*b,*b,*b,*b,*b]\nd: &d [*c,*c,*c,*c,*c,*c,*c,*c,*c,*c]\ne: &e [*d,*d,*d,*d,*d,*d,*d,*d,*d,*d]\nf: [*e,*e,*e]")`,
			"more than 200,000 values once its aliases are followed",
		},
		"toJson of a list of lists": {nested(`toJson(x)`), "toJson: more than 1572864 bytes"},
		"toYaml of a list of lists": {nested(`toYaml(x)`), "toYaml: more than 262144 bytes"},
		"deepMerge of maps of maps": {strings.ReplaceAll(nested(`deepMerge(x, x)`), "[x, x]", `{"a": x, "b": x}`), "deepMerge: more than 50000 entries"},
		"compared":                  {nested(`x == x`), "the values that are compared have more than 200000 parts"},
		"compared otherwise":        {nested(`x != x`), "the values that are compared have more than 200000 parts"},
		"looked for":                {nested(`x in [x]`), "the values that are compared have more than 200000 parts"},
		"distinct of very many":     {`lists.range(100000).distinct()`, "this would compare more than 1000000 pairs"},
		"sets of very many":         {`sets.equivalent(lists.range(30000), lists.range(30000))`, "this would compare more than 1000000 pairs"},
		"text of very much":         {nested(`"%s".format([x])`), "format: more than 1572864 bytes"},
		"json.encode of the same":   {nested(`json.encode(x)`), "toJson: more than 1572864 bytes"},
		"rendered as it is":         {nested(`x`), "the value has more than 1000000 parts"},
		"rendered, joined lists":    {strings.ReplaceAll(nested(`x`), "[x, x]", "x + x"), "+ would give a list of more than 100000 items"},
		"rendered, maps of maps":    {strings.ReplaceAll(nested(`x`), "[x, x]", `{"a": x, "b": x}`), "the value has more than 1000000 parts"},
		"rendered, data many times": {strings.ReplaceAll(nested(`x`), `["a"]`, `parent.spec.items`), "the value has more than 1000000 parts"},
		"dnsName of an int":         {`dnsName(parent.spec.replicas)`, "argument 1 of dnsName must be a string, and is an int"},
		"sha256 of a map":           {`sha256(parent.spec)`, "argument 1 of sha256 must be a string or bytes, and is a map"},
		"kstatus of a string":       {`kstatus(parent.metadata.name)`, "argument 1 of kstatus must be a map or null, and is a string"},
		"truncate to nothing":       {`truncate(timestamp("2026-01-01T00:00:00Z"), duration("0s"))`, "truncate: the duration must be a second or more, and is 0s"},
		"a schedule that is text":   {`cron(parent.metadata.name, "UTC")`, "cron: "},
		"a zone that is not there":  {`cron("* * * * *", "Mars/" + parent.metadata.name)`, `cron: there is no zone "Mars/web"`},
		"a schedule":                {`cron("61 * * * *", "UTC")`, "end of range (61) above maximum (59)"},
		"a schedule, never":         {`cron("0 0 30 2 *", "UTC")`, `"0 0 30 2 *" never comes`},
		"a zone of the place":       {`cron("0 0 1 * *", "Local")`, `"Local" is no zone`},
		"a zone in the text":        {`cron("TZ=UTC 0 0 1 * *", "UTC")`, "the zone is the second argument"},
		"no times of day":           {`cron("@every 1h", "UTC")`, "@every names no times of day"},
		"next of text":              {`cron("* * * * *", "UTC").next(parent.metadata.name)`, "argument 1 of next must be a timestamp, and is a string"},
		"next on text":              {`parent.metadata.name.next(timestamp("2026-01-01T00:00:00Z"))`, "a string has no next()"},
		"too many times":            {`cron("* * * * *", "UTC").between(timestamp("2026-01-01T00:00:00Z"), timestamp("2026-01-01T00:00:00Z"), 5000)`, "between: the most times must be from 0 to 1000, and is 5000"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			got, err := eval(t, test.expr)
			if err == nil || !strings.Contains(err.Error(), test.want) {
				t.Errorf("%s: got %v, %v; want the error %q", test.expr, got, err, test.want)
			}
		})
	}
}

// nested holds a value that has 2^26 strings, in as many as 26 lists.
func nested(use string) string {
	expr := use
	for range 26 {
		expr = "cel.bind(x, [x, x], " + expr + ")"
	}
	return `cel.bind(x, ["a"], ` + expr + ")"
}

func TestOwnFunctionIssues(t *testing.T) {
	t.Parallel()
	env, err := Shared()
	if err != nil {
		t.Fatal(err)
	}
	for name, test := range map[string]struct {
		expr, want string
		offset     int
	}{
		"merge with text":      {`merge("a", {})`, "found no matching overload for 'merge'", 5},
		"merge of one":         {`merge({})`, "found no matching overload for 'merge'", 5},
		"dnsName of a number":  {`dnsName("a", 1)`, "found no matching overload for 'dnsName'", 7},
		"optionalIf of one":    {`1 + optionalIf(true)`, "optionalIf takes a condition and a value", 15},
		"now is no string":     {`now > "2026"`, "found no matching overload for '_>_'", 4},
		"truncate of a string": {`truncate("2026", duration("1h"))`, "found no matching overload for 'truncate'", 8},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			expr, issues := env.Compile(test.expr, Scope{"parent", NowName})
			if len(issues) == 0 {
				_, issues = NewProgram(expr, Options{})
			}
			if len(issues) != 1 || !strings.Contains(issues[0].Message, test.want) || issues[0].Offset != test.offset {
				t.Errorf("got %+v, want %q at %d", issues, test.want, test.offset)
			}
		})
	}
}

func TestOwnFunctionsCost(t *testing.T) {
	t.Parallel()
	for name, expr := range map[string]string{
		"sha256":    `lists.range(1000).map(i, sha256(parent.text)).size()`,
		"fromJson":  `lists.range(1000).map(i, fromJson(parent.json)).size()`,
		"fromYaml":  `lists.range(1000).map(i, fromYaml(parent.json)).size()`,
		"toJson":    `lists.range(1000).map(i, toJson(parent.text)).size()`,
		"toYaml":    `lists.range(1000).map(i, toYaml(parent.text)).size()`,
		"dnsName":   `lists.range(1000).map(i, dnsName(parent.text)).size()`,
		"merge":     `lists.range(1000).map(i, merge(parent.big, {})).size()`,
		"deepMerge": `lists.range(1000).map(i, deepMerge(parent, {"big": {"x": 1}})).size()`,
		"cron":      `lists.range(1000).map(i, cron("* * * *" + parent.star, "UTC")).size()`,
		"next":      `lists.range(1000).map(i, cron("* * * * *", "UTC").next(now)).size()`,
		"previous":  `lists.range(1000).map(i, cron("* * * * *", "UTC").previous(now)).size()`,
		"between":   `lists.range(1000).map(i, cron("* * * * *", "UTC").between(now - duration("1h"), now, 1000)).size()`,
		"kstatus":   `lists.range(1000).map(i, kstatus(parent)).size()`,
		"ready":     `lists.range(1000).map(i, ready(parent)).size()`,
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			big := map[string]any{}
			for i := range 200 {
				big[fmt.Sprint(i)] = int64(i)
			}
			clock := NewClock(time.Unix(0, 0))
			_, err := run(t, expr, Options{CostLimit: 20_000}, map[string]any{
				"parent": map[string]any{"text": strings.Repeat("x", 2000), "json": `["` + strings.Repeat("x", 2000) + `"]`, "big": big, "star": " *"},
				NowName:  clock.Now(),
			})
			if !errors.Is(err, ErrCostLimit) {
				t.Errorf("%s: got %v, want %v", expr, err, ErrCostLimit)
			}
		})
	}
}

func run(t *testing.T, text string, o Options, vars map[string]any) (any, error) {
	t.Helper()
	env, err := Shared()
	if err != nil {
		t.Fatal(err)
	}
	expr, issues := env.Compile(text, Scope{"parent", NowName})
	if len(issues) > 0 {
		t.Fatalf("compile %s: %v", text, issues)
	}
	prog, issues := NewProgram(expr, o)
	if len(issues) > 0 {
		t.Fatalf("plan %s: %v", text, issues)
	}
	activation, err := interpreter.NewActivation(vars)
	if err != nil {
		t.Fatal(err)
	}
	val, err := prog.Eval(t.Context(), activation)
	if err != nil {
		return nil, err
	}
	return ToJSON(val)
}
