"""A working directory of somebody else: Python modules and Java files that run if a program looks for them there."""

from pathlib import Path

MODULES = ("json", "sitecustomize", "usercustomize", "pickle", "pyarrow", "pyspark", "kctl")
"""Imported by each program that kctl starts; kctl and pyspark are packages."""


class HostileFolder:
    """A folder whose modules leave a mark when they are imported.

    Attributes: path: the folder, to be the working directory of a program.
    """

    def __init__(self, scratch: Path) -> None:
        self.path = scratch / "hostile"
        self._marks = scratch / "marks"
        code = f"import sys\nopen({str(self._marks)!r}, 'a').write(__name__ + ' of ' + ' '.join(sys.argv) + '\\n')\n"
        for name in MODULES:
            (self.path / name).mkdir(parents=True)
            (self.path / name / "__init__.py").write_text(code)
        for name in (".", "conf"):
            (self.path / name).mkdir(exist_ok=True)
            spark = f"spark.driver.extraJavaOptions -Xlog:os:file={self._marks}\n"
            (self.path / name / "spark-defaults.conf").write_text(spark)
            (self.path / name / "spark-env.sh").write_text(f"echo {name}/spark-env.sh >> '{self._marks}'\n")
            log4j = (
                "rootLogger.level = info\nrootLogger.appenderRef.f.ref = f\nappender.f.type = File\n"
                "appender.f.name = f\n"
                f"appender.f.fileName = {self._marks}\nappender.f.layout.type = PatternLayout\n"
            )
            (self.path / name / "log4j2.properties").write_text(log4j)
        (self.path / "jars").mkdir()
        (self.path / "jars" / "hostile.jar").write_bytes(b"not a jar")

    def marks(self) -> list[str]:
        """Return which modules and files of the folder were used."""
        return self._marks.read_text(errors="replace").splitlines() if self._marks.exists() else []
