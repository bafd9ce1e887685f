package languageserver

// The names below are those of the specification of the protocol, version 3.17, which explains them.

type position struct {
	Line      int `json:"line"`
	Character int `json:"character"`
}

type textRange struct {
	Start position `json:"start"`
	End   position `json:"end"`
}

type location struct {
	URI   string    `json:"uri"`
	Range textRange `json:"range"`
}

type documentParams struct {
	TextDocument struct {
		URI     string `json:"uri"`
		Version int    `json:"version"`
		Text    string `json:"text"`
	} `json:"textDocument"`
	Position       position `json:"position"`
	Range          textRange
	ContentChanges []struct {
		Text string `json:"text"`
	} `json:"contentChanges"`
}

type initializeParams struct {
	RootURI          string `json:"rootUri"`
	WorkspaceFolders []struct {
		URI string `json:"uri"`
	} `json:"workspaceFolders"`
}

type completionItem struct {
	Label         string         `json:"label"`
	Kind          int            `json:"kind"`
	Detail        string         `json:"detail,omitempty"`
	Documentation *markupContent `json:"documentation,omitempty"`
	SortText      string         `json:"sortText,omitempty"`
	TextEdit      *textEdit      `json:"textEdit,omitempty"`
}

// The kinds of completion items in use.
const (
	itemFunction = 3
	itemField    = 5
	itemVariable = 6
	itemClass    = 7
	itemValue    = 12
)

type markupContent struct {
	Kind  string `json:"kind"`
	Value string `json:"value"`
}

func markdown(text string) *markupContent {
	if text == "" {
		return nil
	}
	return &markupContent{Kind: "markdown", Value: text}
}

type hover struct {
	Contents *markupContent `json:"contents"`
	Range    textRange      `json:"range"`
}

type textEdit struct {
	Range   textRange `json:"range"`
	NewText string    `json:"newText"`
}

type publishDiagnosticsParams struct {
	URI         string    `json:"uri"`
	Version     int       `json:"version"`
	Diagnostics []problem `json:"diagnostics"`
}

type problem struct {
	Range              textRange            `json:"range"`
	Severity           int                  `json:"severity"`
	Code               string               `json:"code,omitempty"`
	Source             string               `json:"source"`
	Message            string               `json:"message"`
	RelatedInformation []relatedInformation `json:"relatedInformation,omitempty"`
}

type relatedInformation struct {
	Location location `json:"location"`
	Message  string   `json:"message"`
}

type codeAction struct {
	Title       string        `json:"title"`
	Kind        string        `json:"kind"`
	Diagnostics []problem     `json:"diagnostics"`
	IsPreferred bool          `json:"isPreferred"`
	Edit        workspaceEdit `json:"edit"`
}

type workspaceEdit struct {
	Changes map[string][]textEdit `json:"changes"`
}

type documentSymbol struct {
	Name           string           `json:"name"`
	Detail         string           `json:"detail,omitempty"`
	Kind           int              `json:"kind"`
	Range          textRange        `json:"range"`
	SelectionRange textRange        `json:"selectionRange"`
	Children       []documentSymbol `json:"children,omitempty"`
}

// The kinds of symbols in use.
const (
	symbolClass    = 5
	symbolField    = 8
	symbolVariable = 13
	symbolObject   = 19
	symbolEvent    = 24
)
