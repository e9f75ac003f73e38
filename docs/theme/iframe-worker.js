// The search of MkDocs Material runs in a worker. Browsers refuse to start one for pages from the
// file system. For these pages, this class runs the script of the worker in a hidden frame.
"use strict";
if (location.protocol === "file:") {
  window.Worker = class extends EventTarget {
    constructor(url) {
      super();
      const frame = document.createElement("iframe");
      frame.hidden = true;
      frame.title = "search";
      document.body.append(frame);
      this.frame = frame.contentWindow;
      addEventListener("message", event => {
        if (event.source === this.frame)
          this.dispatchEvent(new MessageEvent("message", { data: event.data }));
      });
      this.frame.document.write(
        `<script>postMessage = data => parent.postMessage(data, "*")</script>
         <script src="${url}"></script>`);
      this.frame.document.close();
      // after write(), which removes the listeners of the frame
      this.loaded = new Promise(resolve => { this.frame.onload = resolve; });
    }

    postMessage(data) {
      this.loaded.then(() => this.frame.dispatchEvent(new MessageEvent("message", { data })));
    }
  };
}
