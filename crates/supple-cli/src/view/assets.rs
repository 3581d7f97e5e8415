//! The page, embedded in the program.

/// A file of the page with its media type.
pub(super) fn find(name: &str) -> Option<(&'static str, &'static [u8])> {
    macro_rules! file {
        ($kind:literal, $path:literal) => {
            Some(($kind, include_bytes!(concat!("../../viewer/", $path)).as_slice()))
        };
    }
    match name {
        "" | "index.html" => file!("text/html; charset=utf-8", "index.html"),
        "style.css" => file!("text/css; charset=utf-8", "style.css"),
        "icon.svg" => file!("image/svg+xml", "icon.svg"),
        "main.js" => file!("text/javascript", "main.js"),
        "files.js" => file!("text/javascript", "files.js"),
        "pace.js" => file!("text/javascript", "pace.js"),
        "connection.js" => file!("text/javascript", "connection.js"),
        "stage.js" => file!("text/javascript", "stage.js"),
        "bodies.js" => file!("text/javascript", "bodies.js"),
        "colours.js" => file!("text/javascript", "colours.js"),
        "hand.js" => file!("text/javascript", "hand.js"),
        "panel.js" => file!("text/javascript", "panel.js"),
        "plots.js" => file!("text/javascript", "plots.js"),
        "three/three.module.js" => file!("text/javascript", "three/three.module.js"),
        "three/three.core.js" => file!("text/javascript", "three/three.core.js"),
        "three/OrbitControls.js" => file!("text/javascript", "three/OrbitControls.js"),
        _ => None,
    }
}
